// Converts stored values to their meaning.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/half.hpp"
#include "kiln/data/parquet/values.hpp"

namespace kiln::parquet {
namespace {

constexpr std::size_t kLongestDecimal = 256;  // bytes; current writers use 32 at most

/// The double nearest to digits * 10^-scale.
double nearest(std::string digits, std::int32_t scale) {
  digits += text("e-", scale);
  double number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

double decimal(std::int64_t whole, std::int32_t scale) {
  static constexpr auto kPowers = [] {  // powers of ten that are exact doubles
    std::array<double, 23> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
    return powers;
  }();
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  const auto at = static_cast<std::size_t>(scale);
  if (whole >= -kExact && whole <= kExact && at < kPowers.size()) return static_cast<double>(whole) / kPowers[at];
  return nearest(text(whole), scale);
}

/// Converts an integer of any size: two's complement, highest byte first.
double decimal(std::string_view bytes, std::int32_t scale, std::string_view file) {
  if (bytes.empty() || bytes.size() > kLongestDecimal) throw_damaged(file, "a decimal of ", bytes.size(), " bytes");
  const bool negative = static_cast<unsigned char>(bytes[0]) >= 0x80;
  if (bytes.size() <= 8) {
    std::uint64_t whole = negative ? ~std::uint64_t{0} : 0;
    for (const char byte : bytes) whole = whole << 8 | static_cast<unsigned char>(byte);
    return decimal(static_cast<std::int64_t>(whole), scale);
  }
  constexpr std::uint64_t kBase = 1'000'000'000;
  std::vector<std::uint64_t> digits{0};  // nine decimal digits each, lowest first
  const auto shift_in = [&](std::uint64_t factor, std::uint64_t carry) {
    for (auto& nine : digits) {
      carry += nine * factor;
      nine = carry % kBase;
      carry /= kBase;
    }
    if (carry) digits.push_back(carry);
  };
  for (const char byte : bytes) shift_in(256, static_cast<unsigned char>(negative ? ~byte : byte));
  if (negative) shift_in(1, 1);
  std::string written = negative ? "-" : "";
  written += text(digits.back());
  for (std::size_t i = digits.size() - 1; i-- > 0;) {
    const std::string nine = text(digits[i]);
    written.append(9 - nine.size(), '0').append(nine);
  }
  return nearest(std::move(written), scale);
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
        each(values.integers, converted.numbers, [&](std::int64_t whole) { return decimal(whole, column.scale); });
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
