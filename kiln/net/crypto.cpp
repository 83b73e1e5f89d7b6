#include "kiln/net/crypto.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kiln/core/error/error.hpp"

namespace kiln::net {

bool constant_time_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differs = static_cast<unsigned char>(differs | std::to_integer<int>(a[i] ^ b[i]));
  return differs == 0;
}
bool constant_time_equal(std::string_view a, std::string_view b) {
  return constant_time_equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

void fill_random(std::span<std::byte> place) {
  while (!place.empty()) {
    const ssize_t got = ::getrandom(place.data(), place.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    require<IoError>(got > 0, "net: the system gives no random bytes: ", std::strerror(errno));
    place = place.subspan(static_cast<std::size_t>(got));
  }
}

std::string random_hex(std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<std::byte> random(bytes);
  fill_random(random);
  std::string word;
  for (const std::byte byte : random) {
    word += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    word += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return word;
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string word;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(bytes.size() - i, 3);
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (k < left ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) word += k <= left ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return word;
}

}  // namespace kiln::net
