// Packing: a message in fewer bytes, for links that are slower than a processor packs (zlib).
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "kiln/net/connection.hpp"

namespace kiln::remote {

/// Returns the message `begin` and `end` in fewer bytes, as a Frame::Packed; empty where that saves less than an eighth.
/// `end` are elements of `element` bytes. Where they have at most 256 different values (pictures in float32), each is a byte
/// that names one of a list; otherwise the first bytes of all come first, then the second ones, as those of floats resemble
/// each other.
std::vector<std::byte> packed(std::span<const std::byte> begin, std::span<const std::byte> end, std::size_t element);
bool is_packed(std::span<const std::byte> message);
/// Throws DataError for bytes that packed() does not make, and for a message of more than `most` bytes.
net::Message unpacked(std::span<const std::byte> message, std::size_t most);

}  // namespace kiln::remote
