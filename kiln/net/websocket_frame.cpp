#include "kiln/net/websocket_frame.hpp"

#include <algorithm>
#include <cstring>

namespace kiln::net {
namespace {

constexpr std::size_t kShort = 125, kTwoBytes = 126, kEightBytes = 127;

std::byte byte_of(std::uint64_t number, std::size_t at) { return static_cast<std::byte>(number >> (8 * at)); }

}  // namespace

std::size_t write_head(const FrameHead& head, std::span<std::byte, kMostHead> place) {
  const std::size_t wide = head.length <= kShort ? 0 : head.length <= 0xffff ? 2 : 8;
  place[0] = static_cast<std::byte>((head.final ? 0x80 : 0) | static_cast<int>(head.opcode));
  place[1] = static_cast<std::byte>((head.mask ? 0x80u : 0u) | (wide == 0   ? head.length
                                                                : wide == 2 ? kTwoBytes
                                                                            : kEightBytes));
  for (std::size_t i = 0; i < wide; ++i) place[2 + i] = byte_of(head.length, wide - 1 - i);
  if (!head.mask) return 2 + wide;
  std::ranges::copy(*head.mask, place.begin() + 2 + static_cast<std::ptrdiff_t>(wide));
  return 2 + wide + head.mask->size();
}

ReadHead read_head(std::span<const std::byte> bytes) {
  ReadHead read;
  const auto wrong = [&](const char* why) {
    read.wrong = why;
    return read;
  };
  if (bytes.size() < 2) return read;
  const unsigned first = std::to_integer<unsigned>(bytes[0]), second = std::to_integer<unsigned>(bytes[1]);
  read.head.final = first & 0x80;
  read.head.opcode = static_cast<Opcode>(first & 15);
  if (first & 0x70) return wrong("a frame of an extension that was not agreed on");
  if ((first & 15) > 10 || ((first & 15) > 2 && (first & 15) < 8)) return wrong("a frame of an unknown kind");
  const std::size_t said = second & 0x7f, wide = said == kTwoBytes ? 2 : said == kEightBytes ? 8 : 0;
  if (read.head.is_control() && (wide > 0 || !read.head.final)) return wrong("a long or divided control frame");
  const std::size_t size = 2 + wide + (second & 0x80 ? sizeof(Mask) : 0);
  if (bytes.size() < size) return read;
  read.head.length = wide == 0 ? said : 0;
  for (std::size_t i = 0; i < wide; ++i)
    read.head.length = read.head.length << 8 | std::to_integer<std::uint64_t>(bytes[2 + i]);
  if ((wide == 2 && read.head.length <= kShort) || (wide == 8 && read.head.length <= 0xffff) || read.head.length >> 63)
    return wrong("a length that is not written as it must be");
  if (second & 0x80) std::ranges::copy(bytes.subspan(2 + wide, sizeof(Mask)), read.head.mask.emplace().begin());
  read.size = size;
  return read;
}

void apply_mask(std::span<const std::byte> bytes, std::byte* to, const Mask& mask, std::size_t offset) {
  using Lanes = std::uint64_t __attribute__((vector_size(16)));
  std::uint32_t turned = 0;
  for (std::size_t i = 0; i < mask.size(); ++i)
    turned |= std::to_integer<std::uint32_t>(mask[(offset + i) % mask.size()]) << (8 * i);
  const Lanes wide = Lanes{} + (std::uint64_t{turned} << 32 | turned);
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + sizeof wide <= bytes.size(); i += sizeof wide) {
    Lanes lanes;
    std::memcpy(&lanes, bytes.data() + i, sizeof lanes);
    lanes ^= wide;
    std::memcpy(to + i, &lanes, sizeof lanes);
  }
  for (; i < bytes.size(); ++i) to[i] = bytes[i] ^ static_cast<std::byte>(turned >> (8 * (i % mask.size())));
}

}  // namespace kiln::net
