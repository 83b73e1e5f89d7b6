#include "kiln/backend/remote/packing.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

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

/// Palette is a list of the values that elements have, as many as a byte can name.
class Palette {
 public:
  static constexpr std::size_t kMost = 256;

  /// Returns the number of a value, which is added where it is new; kMost where there are too many, or where more of them
  /// meet in one place than chance brings there: nobody can choose values that take long to find.
  std::size_t number_of(std::uint64_t value) {
    std::size_t at = value * 0x9E3779B97F4A7C15 >> 54;
    for (std::size_t tries = 0; tries < kMostTries; ++tries, at = (at + 1) % slots_.size()) {
      if (slots_[at] == 0) {
        if (values_.size() == kMost) return kMost;
        values_.push_back(value);
        slots_[at] = static_cast<std::uint16_t>(values_.size());
      }
      if (const std::size_t number = slots_[at] - 1u; values_[number] == value) return number;
    }
    return kMost;
  }
  std::size_t size() const { return values_.size(); }
  std::uint64_t at(std::size_t number) const { return values_[number]; }

 private:
  static constexpr std::size_t kMostTries = 32;
  std::array<std::uint16_t, 1024> slots_{};  // numbers plus one
  std::vector<std::uint64_t> values_;
};

bool may_have_palette(std::size_t element) { return element == 2 || element == 4 || element == 8; }

/// Returns the values that elements have, the number of each element's value, and what is no whole element; nothing where
/// there are more values than a byte can name.
std::vector<std::byte> numbered(std::span<const std::byte> from, std::size_t element, std::size_t& values) {
  const std::size_t count = from.size() / element;
  if (!may_have_palette(element) || count == 0) return {};
  Palette palette;
  std::vector<std::byte> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, &from[i * element], element);
    const std::size_t number = palette.number_of(value);
    if (number == Palette::kMost) return {};
    numbers[i] = static_cast<std::byte>(number);
  }
  values = palette.size();
  std::vector<std::byte> made(values * element);
  for (std::size_t i = 0; i < values; ++i) {
    const std::uint64_t value = palette.at(i);
    std::memcpy(&made[i * element], &value, element);
  }
  made.insert(made.end(), numbers.begin(), numbers.end());
  made.insert(made.end(), from.begin() + static_cast<std::ptrdiff_t>(count * element), from.end());
  return made;
}

/// Writes the elements to `to`. Returns false where one has a number that is none.
bool write_values(std::span<const std::byte> from, std::size_t values, std::size_t element, std::size_t count,
                  std::byte* to) {
  for (const std::byte number : from.subspan(values * element, count)) {
    const auto at = std::to_integer<std::size_t>(number);
    if (at >= values) return false;
    std::memcpy(to, &from[at * element], element);
    to += element;
  }
  std::ranges::copy(from.subspan(values * element + count), to);
  return true;
}

}  // namespace

std::vector<std::byte> packed(std::span<const std::byte> begin, std::span<const std::byte> end, std::size_t element) {
  std::vector<std::byte> turned(begin.begin(), begin.end());
  std::size_t values = 0;
  if (const std::vector<std::byte> all = numbered(end, element, values); values > 0) {
    turned.insert(turned.end(), all.begin(), all.end());
  } else {
    turned.resize(begin.size() + end.size());
    const std::size_t sample = std::min(kSample, end.size()) / element * element;
    turn(end.first(sample), turned.data() + begin.size(), element, false);
    if (sample > 0 && !pays(sample, deflated(std::span(turned).subspan(begin.size(), sample)).size())) return {};
    turn(end, turned.data() + begin.size(), element, false);
  }
  const std::vector<std::byte> fewer = deflated(turned);
  if (!pays(begin.size() + end.size(), fewer.size())) return {};
  wire::Writer out;
  remote::begin(out, Frame::Packed);
  for (const std::size_t number : {begin.size(), end.size(), element, values}) out.whole(number);
  out.bytes(fewer);
  return out.take();
}

bool is_packed(std::span<const std::byte> message) {
  return !message.empty() && message[0] == std::byte{static_cast<std::uint8_t>(Frame::Packed)};
}

net::Message unpacked(std::span<const std::byte> message, std::size_t most) {
  wire::Reader in("a packed message", message);
  (void)in.byte();
  const std::uint64_t begin = in.whole(), end = in.whole(), bytes = in.whole(), values = in.whole();
  if (begin > most || end > most - begin) in.wrong("more than ", most, " bytes");
  if (bytes < 1 || bytes > kMostElement) in.wrong("elements of ", bytes, " bytes");
  const auto element = static_cast<std::size_t>(bytes), count = static_cast<std::size_t>(end) / element;
  if (values > (may_have_palette(element) ? std::min(Palette::kMost, count) : 0))
    in.wrong(values, " values of ", count, " elements of ", element, " bytes");
  const std::size_t length = begin + (values > 0 ? values * element + count + end % element : end);
  const auto fewer = in.bytes(in.left());
  net::Message turned(length);
  uLongf size = length;
  const int problem = ::uncompress(reinterpret_cast<Bytef*>(turned.data()), &size,
                                   reinterpret_cast<const Bytef*>(fewer.data()), fewer.size());
  if (problem != Z_OK || size != length) in.wrong("what does not unpack to ", length, " bytes");
  const auto elements = std::span(turned).subspan(static_cast<std::size_t>(begin));
  net::Message whole(static_cast<std::size_t>(begin + end));
  std::copy_n(turned.begin(), begin, whole.begin());
  if (values == 0) turn(elements, whole.data() + begin, element, true);
  else if (!write_values(elements, static_cast<std::size_t>(values), element, count, whole.data() + begin))
    in.wrong("an element with a value that is not there");
  if (whole.empty() || is_packed(whole)) in.wrong("a message that is empty, or packed twice");
  return whole;
}

}  // namespace kiln::remote
