#include "kiln/core/text.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace kiln {

void append(std::string& out, double number) {
  if (std::isnan(number)) { out += "nan"; return; }
  if (std::isinf(number)) { out += number < 0 ? "-inf" : "inf"; return; }
  char digits[32];
  const int length = std::snprintf(digits, sizeof digits, "%.9g", number);
  out.append(digits, static_cast<std::size_t>(length));
}

void append(std::string& out, std::int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append(std::string& out, std::uint64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace kiln
