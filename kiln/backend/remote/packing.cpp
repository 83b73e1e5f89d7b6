#include "kiln/backend/remote/packing.hpp"

#include <zlib.h>

#include <algorithm>

#include "kiln/backend/remote/protocol.hpp"

namespace kiln::remote {
namespace {

constexpr int kLevel = 1;  // the fastest: it saves nearly what others do
constexpr std::size_t kSample = 8 << 10, kMostElement = 16;

std::vector<std::byte> deflated(std::span<const std::byte> bytes) {
  uLongf size = ::compressBound(bytes.size());
  std::vector<std::byte> made(size);
  const int problem = ::compress2(reinterpret_cast<Bytef*>(made.data()), &size,
                                  reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), kLevel);
  made.resize(problem == Z_OK ? size : 0);
  return made;
}

bool pays(std::size_t before, std::size_t after) { return after > 0 && after < before - before / 8; }

/// Copies byte k of element i from place [i, k] to [k, i], or back. What is no whole element stays at the end.
void turn(std::span<const std::byte> from, std::byte* to, std::size_t element, bool back) {
  const std::size_t count = from.size() / element;
  for (std::size_t k = 0; k < element; ++k)
    for (std::size_t i = 0; i < count; ++i)
      if (back) to[i * element + k] = from[k * count + i];
      else to[k * count + i] = from[i * element + k];
  std::copy(from.begin() + static_cast<std::ptrdiff_t>(count * element), from.end(), to + count * element);
}

}  // namespace

std::vector<std::byte> packed(std::span<const std::byte> begin, std::span<const std::byte> end, std::size_t element) {
  std::vector<std::byte> turned(begin.begin(), begin.end());
  turned.resize(begin.size() + end.size());
  const std::size_t sample = std::min(kSample, end.size()) / element * element;
  turn(end.first(sample), turned.data() + begin.size(), element, false);
  if (sample > 0 && !pays(sample, deflated(std::span(turned).subspan(begin.size(), sample)).size())) return {};
  turn(end, turned.data() + begin.size(), element, false);
  const std::vector<std::byte> fewer = deflated(turned);
  if (!pays(turned.size(), fewer.size())) return {};
  wire::Writer out;
  remote::begin(out, Frame::Packed);
  out.whole(begin.size());
  out.whole(end.size());
  out.whole(element);
  out.bytes(fewer);
  return out.take();
}

bool is_packed(std::span<const std::byte> message) {
  return !message.empty() && message[0] == std::byte{static_cast<std::uint8_t>(Frame::Packed)};
}

net::Message unpacked(std::span<const std::byte> message, std::size_t most) {
  wire::Reader in("a packed message", message);
  (void)in.byte();
  const std::uint64_t begin = in.whole(), end = in.whole(), element = in.whole();
  if (begin > most || end > most - begin) in.wrong("more than ", most, " bytes");
  if (element < 1 || element > kMostElement) in.wrong("elements of ", element, " bytes");
  const auto fewer = in.bytes(in.left());
  net::Message turned(static_cast<std::size_t>(begin + end));
  uLongf size = turned.size();
  const int problem = ::uncompress(reinterpret_cast<Bytef*>(turned.data()), &size,
                                   reinterpret_cast<const Bytef*>(fewer.data()), fewer.size());
  if (problem != Z_OK || size != turned.size()) in.wrong("what does not unpack to ", turned.size(), " bytes");
  net::Message whole(turned);
  const auto elements = std::span(turned).subspan(static_cast<std::size_t>(begin));
  turn(elements, whole.data() + begin, static_cast<std::size_t>(element), true);
  if (whole.empty() || is_packed(whole)) in.wrong("a message that is empty, or packed twice");
  return whole;
}

}  // namespace kiln::remote
