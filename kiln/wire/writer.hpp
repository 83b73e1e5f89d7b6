// Bytes for a file or a peer: integers in as few bytes as they need, little endian, independent of how the compiler
// lays out structs. The same values give the same bytes on every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::wire {

/// Appends values to a buffer that take() hands over piece by piece, like the messages of a connection. A name (of an
/// op, of an enumerator) is spelled once; from then on, also in later pieces, its number represents it.
class Writer {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void bytes(std::span<const std::byte> values) { bytes_.insert(bytes_.end(), values.begin(), values.end()); }
  void text(std::string_view value) {
    whole(value.size());
    bytes(std::as_bytes(std::span(value)));
  }
  /// Seven bits to a byte, the lowest first; all bytes but the last have bit 7 set (LEB128).
  void whole(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  /// Maps 0, -1, 1, -2, 2, ... to 0, 1, 2, 3, 4, ...
  void integer(std::int64_t value) {
    whole(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  /// The lowest `count` bytes of the number, the lowest first.
  void fixed(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) byte(static_cast<std::uint8_t>(value >> 8 * i));
  }

  /// Writes one plus the name's number where it was written before; otherwise 0 and the name.
  void name(std::string_view name) { spell(names_, name); }
  /// Writes an op's name in this way, followed by the fingerprint of its fields when it is new.
  void op(std::string_view name, std::uint64_t fingerprint) {
    if (spell(ops_, name)) fixed(fingerprint, 8);
  }

  /// The bytes that were written since the last take().
  std::size_t size() const { return bytes_.size(); }
  /// Returns what was written since the last call. Names keep their numbers.
  std::vector<std::byte> take() { return std::exchange(bytes_, {}); }

 private:
  using Numbers = std::map<std::string, std::uint64_t, std::less<>>;

  /// Whether the name is new.
  bool spell(Numbers& numbers, std::string_view name) {
    if (const auto known = numbers.find(name); known != numbers.end()) return whole(known->second + 1), false;
    numbers.emplace(name, numbers.size());
    whole(0);
    text(name);
    return true;
  }

  std::vector<std::byte> bytes_;
  Numbers names_, ops_;
};

}  // namespace kiln::wire
