// Heads of frames (RFC 6455, 5.2).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace kiln::net {

enum class Opcode : std::uint8_t { Continuation = 0, Text = 1, Binary = 2, Close = 8, Ping = 9, Pong = 10 };

/// Why an end closes a connection, as a number in its last frame.
enum class CloseCode : std::uint16_t {
  Normal = 1000,
  GoingAway = 1001,
  Protocol = 1002,
  Unsupported = 1003,
  TooBig = 1009,
  Failed = 1011
};

using Mask = std::array<std::byte, 4>;

struct FrameHead {
  bool final = true;
  Opcode opcode = Opcode::Binary;
  std::optional<Mask> mask = {};
  std::uint64_t length = 0;

  bool is_control() const { return static_cast<int>(opcode) >= 8; }
};

inline constexpr std::size_t kMostHead = 14;

/// Writes a head and returns its size.
std::size_t write_head(const FrameHead& head, std::span<std::byte, kMostHead> place);

/// The head at the beginning of the bytes, and its size; size 0: more bytes are needed. `wrong` says what no end may
/// send.
struct ReadHead {
  FrameHead head;
  std::size_t size = 0;
  const char* wrong = nullptr;
};
ReadHead read_head(std::span<const std::byte> bytes);

/// Combines bytes with a mask. The first one is byte `offset` of its frame, whose byte i meets byte i modulo 4 of the mask.
/// `to` may be the same memory.
void apply_mask(std::span<const std::byte> bytes, std::byte* to, const Mask& mask, std::size_t offset);

}  // namespace kiln::net
