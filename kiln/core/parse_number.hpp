// std::from_chars of a floating-point number, which libc++ 19 lacks (WebAssembly is compiled with it).
#pragma once
#include <cerrno>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <string>

namespace kiln {

namespace detail {

/// Calls strtod, with from_chars' grammar: no blanks, no plus sign, no hexadecimal digits. Programs have the locale "C".
template <std::floating_point T>
std::from_chars_result parse_by_strtod(const char* first, const char* last, T& value) {
  const char* const digits = first != last && *first == '-' ? first + 1 : first;
  const bool begins = digits != last && (*digits == '.' || (*digits >= '0' && *digits <= '9') || *digits == 'i' ||
                                         *digits == 'I' || *digits == 'n' || *digits == 'N');
  if (!begins) return {first, std::errc::invalid_argument};
  const char* end = last;
  if (last - digits > 1 && *digits == '0' && (digits[1] == 'x' || digits[1] == 'X')) end = digits + 1;
  const std::string text(first, end);
  char* behind = nullptr;
  errno = 0;
  const T number = [&] {
    if constexpr (std::same_as<T, float>) return std::strtof(text.c_str(), &behind);
    else return std::strtod(text.c_str(), &behind);
  }();
  if (behind == text.c_str()) return {first, std::errc::invalid_argument};
  const char* const stop = first + (behind - text.c_str());
  // strtod says so of subnormal numbers, too.
  if (errno == ERANGE && (number == 0 || std::isinf(number))) return {stop, std::errc::result_out_of_range};
  value = number;
  return {stop, {}};
}

}  // namespace detail

/// Does what std::from_chars(first, last, value) does, for integers and floating-point numbers.
template <class T>
std::from_chars_result parse_number(const char* first, const char* last, T& value) {
  if constexpr (requires { std::from_chars(first, last, value); }) return std::from_chars(first, last, value);
  else return detail::parse_by_strtod(first, last, value);
}

}  // namespace kiln
