// Bytes for a file or for a peer: whole numbers in as few bytes as they need, little endian, nothing of how this
// compiler lays out a struct. The same values give the same bytes on every machine.
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

/// Appends values to bytes that take() hands over piece by piece, as the messages of a connection. A name (of an op, of
/// an enumerator) is spelled once; from then on, in later pieces too, its number stands for it.
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
  /// 0, -1, 1, -2, 2, ... as 0, 1, 2, 3, 4, ...
  void integer(std::int64_t value) {
    whole(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  /// The lowest `count` bytes of the number, the lowest first.
  void fixed(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) byte(static_cast<std::uint8_t>(value >> 8 * i));
  }

  /// One more than the number that the name has had since it was first written; or 0 and the name.
  void name(std::string_view name) { spell(names_, name); }
  /// The same of an op. With its name goes the fingerprint of its fields.
  void op(std::string_view name, std::uint64_t fingerprint) {
    if (spell(ops_, name)) fixed(fingerprint, 8);
  }

  /// What was written since the last time. Names keep their numbers.
  std::vector<std::byte> take() { return std::exchange(bytes_, {}); }

 private:
  using Numbers = std::map<std::string, std::uint64_t, std::less<>>;

  /// Is it new?
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
