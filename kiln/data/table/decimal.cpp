#include "kiln/data/table/decimal.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "kiln/core/parse_number.hpp"
#include "kiln/core/text.hpp"

namespace kiln {
namespace {

/// The double nearest to digits * 10^-scale.
double nearest(std::string digits, std::int32_t scale) {
  digits += text("e", -scale);
  double number = 0;
  parse_number(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace

double decimal_of(std::int64_t whole, std::int32_t scale) {
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

double decimal_of(std::string_view bytes, std::int32_t scale) {
  const bool negative = static_cast<unsigned char>(bytes[0]) >= 0x80;
  if (bytes.size() <= 8) {
    std::uint64_t whole = negative ? ~std::uint64_t{0} : 0;
    for (const char byte : bytes) whole = whole << 8 | static_cast<unsigned char>(byte);
    return decimal_of(static_cast<std::int64_t>(whole), scale);
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

}  // namespace kiln
