// Turns values into text without streams or a formatting library, so that error sentences can be built on every target,
// microcontrollers included. A type takes part by an `append` found by ADL.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace kiln {

void append(std::string& out, double number);  // nine digits
void append(std::string& out, float number);   // as many digits as distinguish it from other floats
void append(std::string& out, std::int64_t number);
void append(std::string& out, std::uint64_t number);
inline void append(std::string& out, std::string_view text) { out += text; }
inline void append(std::string& out, const char* text) { out += text; }
inline void append(std::string& out, char letter) { out += letter; }
inline void append(std::string& out, bool flag) { out += flag ? "true" : "false"; }

template <std::integral T>
void append(std::string& out, T number) {
  if constexpr (std::is_signed_v<T>) append(out, static_cast<std::int64_t>(number));
  else append(out, static_cast<std::uint64_t>(number));
}

/// text("matmul: ", shape, 3) returns these parts written one after the other.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

}  // namespace kiln
