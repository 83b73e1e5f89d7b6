// Converts stored values to their meaning.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/half.hpp"
#include "kiln/data/parquet/values.hpp"
#include "kiln/data/table/decimal.hpp"

namespace kiln::parquet {
namespace {

constexpr std::size_t kLongestDecimal = 256;  // bytes; current writers use 32 at most

/// Converts an integer of any size: two's complement, highest byte first.
double decimal(std::string_view bytes, std::int32_t scale, std::string_view file) {
  if (bytes.empty() || bytes.size() > kLongestDecimal) throw_damaged(file, "a decimal of ", bytes.size(), " bytes");
  return decimal_of(bytes, scale);
}

void require_width(std::string_view bytes, std::size_t width, std::string_view file) {
  if (bytes.size() != width) throw_damaged(file, "a value of ", bytes.size(), " bytes instead of ", width);
}

double half(std::string_view bytes, std::string_view file) {
  require_width(bytes, 2, file);
  std::uint16_t bits;
  std::memcpy(&bits, bytes.data(), sizeof bits);
  return static_cast<double>(F16::from_bits(bits));
}

/// Nanoseconds of a day, and the Julian day number, which is 2440588 for the first day of 1970.
std::int64_t nanoseconds(std::string_view bytes, const Column& column, std::string_view file) {
  require_width(bytes, 12, file);
  std::int64_t of_day, sum;
  std::int32_t day;
  std::memcpy(&of_day, bytes.data(), sizeof of_day);
  std::memcpy(&day, bytes.data() + sizeof of_day, sizeof day);
  constexpr std::int64_t kDay = 86'400'000'000'000;
  const std::int64_t days = std::int64_t{day} - 2'440'588;
  constexpr std::int64_t kMostDays = std::numeric_limits<std::int64_t>::max() / kDay;
  if (days < -kMostDays || days > kMostDays || __builtin_add_overflow(days * kDay, of_day, &sum))
    fail<DataError>(file, ": column '", shown(column.name),
                    "': has a time before 1677 or after 2262, which nanoseconds of 64 bits do not reach");
  return sum;
}

}  // namespace

Values converted(Values values, const Column& column, std::string_view file) {
  const auto each = [](const auto& from, auto& to, auto&& meaning) {
    to.resize(from.size());
    std::ranges::transform(from, to.begin(), meaning);
  };
  Values converted;
  switch (column.meaning) {
    case LogicalType::Itself: return values;
    case LogicalType::Decimal:
      if (column.stored_kind() == Kind::Integers)
        each(values.integers, converted.numbers, [&](std::int64_t whole) { return decimal_of(whole, column.scale); });
      else each(values.bytes, converted.numbers, [&](std::string_view b) { return decimal(b, column.scale, file); });
      break;
    case LogicalType::Half:
      each(values.bytes, converted.numbers, [&](std::string_view b) { return half(b, file); });
      break;
    case LogicalType::Time96:
      each(values.bytes, converted.integers, [&](std::string_view b) { return nanoseconds(b, column, file); });
  }
  return converted;
}

}  // namespace kiln::parquet
