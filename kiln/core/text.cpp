#include "kiln/core/text.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace kiln {

namespace {

// Writes `number` with `digits` significant digits, and returns the number that the text reads as.
double append_digits(std::string& out, double number, int digits) {
  char letters[32];
  const int length = std::snprintf(letters, sizeof letters, "%.*g", digits, number);
  out.append(letters, static_cast<std::size_t>(length));
  return std::strtod(letters, nullptr);
}

}  // namespace

void append(std::string& out, double number) {
  if (std::isnan(number)) out += "nan";
  else if (std::isinf(number)) out += number < 0 ? "-inf" : "inf";
  else append_digits(out, number, 9);
}

void append(std::string& out, float number) {
  const std::size_t start = out.size();
  // Six digits identify most floats that people write, nine identify every float.
  for (int digits = 6; std::isfinite(number) && digits < 9; ++digits) {
    if (static_cast<float>(append_digits(out, number, digits)) == number) return;
    out.resize(start);
  }
  append(out, static_cast<double>(number));
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
