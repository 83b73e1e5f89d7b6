// This file compares secrets, proves that one knows them, and makes new ones.
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kiln::net {

/// Compares in a time that does not depend on where the bytes differ. Different lengths are told at once.
bool constant_time_equal(std::span<const std::byte> a, std::span<const std::byte> b);
bool constant_time_equal(std::string_view a, std::string_view b);

using Digest = std::array<std::byte, 32>;
/// Returns the HMAC-SHA256 (RFC 2104) of a message. Throws IoError in a build without OpenSSL.
Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

/// Fills `place` from the system's source of random bytes. Throws IoError where there is none.
void fill_random(std::span<std::byte> place);
/// Returns random bytes as hexadecimal digits, two for each: a secret for an address or a token.
std::string random_hex(std::size_t bytes = 16);

/// Returns the answer to a WebSocket's key: base64(SHA-1(key + RFC 6455's constant)). Throws IoError in a build without
/// OpenSSL.
std::string websocket_accept(std::string_view key);
std::string base64(std::span<const std::byte> bytes);

}  // namespace kiln::net
