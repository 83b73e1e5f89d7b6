#include "kiln/data/sound/wav.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/file.hpp"

namespace kiln {
namespace {

constexpr std::uint64_t kPcm = 1, kFloat = 3, kExtensible = 0xfffe;
constexpr std::uint64_t kElsewhere = 0xffffffff;  // the value of a size that does not fit in 32 bits
// The end of an extensible format's GUID after its format tag: xxxxxxxx-0000-0010-8000-00aa00389b71, a number of 32
// bits, two of 16, and bytes.
constexpr std::array<std::uint8_t, 8> kGuidTail = {0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71};

/// The byte order of numbers in a file: lowest first in RIFF, highest first in RIFX.
struct Order {
  bool highest_first = false;

  std::uint64_t number(std::span<const std::byte> bytes) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes[highest_first ? i : bytes.size() - 1 - i]);
    return value;
  }
};
bool is(std::span<const std::byte> bytes, std::string_view letters) {
  return std::ranges::equal(bytes, std::as_bytes(std::span(letters)));
}

struct Layout {
  std::uint64_t tag, channels, rate, bits;  // `bits` is the size of a container, whose highest bits hold the number
  Order order;
};

Layout layout_of(std::span<const std::byte> chunk, Order order, std::string_view name) {
  require<DataError>(chunk.size() >= 16, name, ": is a damaged WAV file: its format has ", chunk.size(),
                     " bytes, not 16");
  const auto field = [&](std::size_t at, std::size_t bytes) { return order.number(chunk.subspan(at, bytes)); };
  Layout layout{field(0, 2), field(2, 2), field(4, 4), field(14, 2), order};
  if (layout.tag == kExtensible) {
    require<DataError>(chunk.size() >= 40, name, ": is a damaged WAV file: its extensible format has ", chunk.size(),
                       " bytes, not 40");
    const bool usual = field(28, 2) == 0 && field(30, 2) == 0x10 &&
                       std::ranges::equal(chunk.subspan(32, 8), std::as_bytes(std::span(kGuidTail)));
    layout.tag = usual ? field(24, 4) : kExtensible;
  }
  require<DataError>(layout.tag == kPcm || layout.tag == kFloat, name, ": is a WAV file of format ", layout.tag,
                     ", which is not supported: PCM (1) and floats (3) are");
  const bool known =
      layout.tag == kPcm ? layout.bits >= 1 && layout.bits <= 32 : layout.bits == 32 || layout.bits == 64;
  require<DataError>(known, name, ": is a WAV file of ", layout.tag == kPcm ? "whole numbers" : "floats", " of ",
                     layout.bits, " bits, which are not supported");
  require<DataError>(layout.channels > 0 && layout.rate > 0, name, ": is a damaged WAV file of ", layout.channels,
                     " channels and ", layout.rate, " frames a second");
  const std::uint64_t held = (layout.bits + 7) / 8;
  require<DataError>(field(12, 2) == layout.channels * held, name, ": is a damaged WAV file: a frame has ",
                     field(12, 2), " bytes, not those of ", layout.channels, " channels of ", layout.bits, " bits");
  layout.bits = 8 * held;
  return layout;
}

float sample_of(std::uint64_t bits, const Layout& layout) {
  if (layout.tag == kFloat)
    return layout.bits == 32 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                             : static_cast<float>(std::bit_cast<double>(bits));
  if (layout.bits == 8) bits ^= 0x80;  // only 8-bit samples are unsigned: silence is 128
  const auto shifted = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits << (32 - layout.bits)));
  return static_cast<float>(static_cast<double>(shifted) * 0x1p-31);
}

Sound samples_of(std::span<const std::byte> data, const Layout& layout, std::string_view name,
                 std::int64_t most_samples) {
  const std::size_t bytes = layout.bits / 8;
  require<DataError>(data.size() % (bytes * layout.channels) == 0, name, ": is a damaged WAV file: ", data.size(),
                     " bytes are no frames of ", bytes * layout.channels, " bytes each");
  require<DataError>(data.size() / bytes <= static_cast<std::uint64_t>(std::max<std::int64_t>(most_samples, 0)), name,
                     ": has ", data.size() / bytes, " samples, more than the ", most_samples, " that are allowed");
  Sound sound{std::vector<float>(data.size() / bytes), static_cast<std::int64_t>(layout.channels),
              static_cast<std::int64_t>(layout.rate)};
  for (std::size_t i = 0; i < sound.samples.size(); ++i)
    sound.samples[i] = sample_of(layout.order.number(data.subspan(i * bytes, bytes)), layout);
  return sound;
}

/// Sizes beyond 32 bits, which RF64 has in its first chunk (EBU Tech 3306).
class LargeSizes {
 public:
  void read(std::span<const std::byte> chunk, std::string_view name) {
    constexpr std::size_t kHead = 28, kEntry = 12;
    require<DataError>(chunk.size() >= kHead, name, ": is a damaged WAV file: its large sizes have ", chunk.size(),
                       " bytes, not ", kHead);
    data_ = Order().number(chunk.subspan(8, 8));
    const std::uint64_t count = Order().number(chunk.subspan(24, 4));
    require<DataError>(count <= (chunk.size() - kHead) / kEntry, name, ": is a damaged WAV file: ", count,
                       " large sizes in ", chunk.size(), " bytes");
    table_ = chunk.subspan(kHead, static_cast<std::size_t>(count) * kEntry);
    there_ = true;
  }
  std::optional<std::uint64_t> of(std::span<const std::byte> kind) const {
    if (!there_) return std::nullopt;
    if (is(kind, "data")) return data_;
    for (std::size_t at = 0; at < table_.size(); at += 12)
      if (std::ranges::equal(table_.subspan(at, 4), kind)) return Order().number(table_.subspan(at + 4, 8));
    return std::nullopt;
  }

 private:
  bool there_ = false;
  std::uint64_t data_ = 0;
  std::span<const std::byte> table_;
};

}  // namespace

Sound decode_wav(std::span<const std::byte> file, std::string_view name, std::int64_t most_samples) try {
  const auto begins = [&](std::string_view mark) { return is(file.first(4), mark); };
  const bool wave = file.size() >= 12 && is(file.subspan(8, 4), "WAVE");
  const bool large = wave && (begins("RF64") || begins("BW64")), highest_first = wave && begins("RIFX");
  require<DataError>(large || highest_first || (wave && begins("RIFF")), name, ": is no WAV file");
  const Order order{highest_first};
  LargeSizes sizes;
  std::optional<Layout> layout;
  for (std::size_t at = 12; file.size() - at >= 8;) {
    const auto kind = file.subspan(at, 4);
    std::uint64_t size = order.number(file.subspan(at + 4, 4));
    const auto rest = file.subspan(at + 8);
    const bool sound = is(kind, "data");
    if (const auto elsewhere = sizes.of(kind); size == kElsewhere && elsewhere) {
      size = *elsewhere;
    } else if (sound && size == kElsewhere) {
      // Written to a pipe, without knowing the size: takes all that there is, in whole frames.
      size = rest.size();
      if (layout) size -= size % (layout->channels * layout->bits / 8);
    }
    require<DataError>(size <= rest.size(), name, ": is a damaged WAV file, or cut off: a part of ", size,
                       " bytes begins at byte ", at, " of ", file.size());
    const auto chunk = rest.first(static_cast<std::size_t>(size));
    if (large && is(kind, "ds64")) sizes.read(chunk, name);
    if (is(kind, "fmt ")) layout = layout_of(chunk, order, name);
    if (sound) {
      require<DataError>(layout.has_value(), name,
                         ": is a damaged WAV file: its format does not stand before its data");
      return samples_of(chunk, *layout, name, most_samples);
    }
    at += 8 + chunk.size() + std::min<std::size_t>(chunk.size() % 2, rest.size() - chunk.size());
  }
  fail<DataError>(name, ": is a damaged WAV file, or cut off: it has no data");
} catch (...) { rethrow_as_memory_error(name); }

Sound read_wav(const std::string& path) try { return decode_wav(read_file(path), path); } catch (...) {
  rethrow_as_memory_error(path);
}

std::vector<std::byte> encode_wav(const Sound& sound, WavFormat format) try {
  constexpr std::array<std::uint64_t, 6> kBits = {8, 16, 24, 32, 32, 64};
  const std::uint64_t bits = kBits[static_cast<std::size_t>(format)], bytes = bits / 8;
  const bool floats = format == WavFormat::Float32 || format == WavFormat::Float64;
  constexpr std::int64_t kMostChannels = 65'535, kMostRate = 0xffffffff;
  require<ArgumentError>(
      sound.channels >= 1 && sound.channels <= kMostChannels && sound.rate >= 1 && sound.rate <= kMostRate,
      "write_wav: ", sound.channels, " channels of ", sound.rate, " frames a second");
  require<ShapeError>(std::ssize(sound.samples) % sound.channels == 0, "write_wav: ", sound.samples.size(),
                      " samples are no frames of ", sound.channels, " channels");
  const auto channels = static_cast<std::uint64_t>(sound.channels), rate = static_cast<std::uint64_t>(sound.rate);
  const std::uint64_t frame = channels * bytes;
  require<ArgumentError>(frame <= 0xffff && frame * rate <= 0xffffffff && sound.samples.size() < (0xffffff00 / bytes),
                         "write_wav: ", sound.samples.size(), " samples of ", channels, " channels, ", rate,
                         " frames a second, are more than a WAV file can hold");
  const std::uint64_t size = sound.samples.size() * bytes, padding = size % 2;
  std::vector<std::byte> file;
  file.reserve(44 + size + padding);
  const auto put = [&](std::uint64_t value, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) file.push_back(static_cast<std::byte>(value >> 8 * i));
  };
  const auto put_letters = [&](std::string_view letters) {
    for (const char c : letters) file.push_back(static_cast<std::byte>(c));
  };
  put_letters("RIFF");
  put(36 + size + padding, 4);
  put_letters("WAVEfmt ");
  put(16, 4);
  put(floats ? kFloat : kPcm, 2);
  put(channels, 2);
  put(rate, 4);
  put(rate * frame, 4);
  put(frame, 2);
  put(bits, 2);
  put_letters("data");
  put(size, 4);
  const double scale = std::ldexp(1.0, static_cast<int>(bits) - 1);
  for (const float sample : sound.samples) {
    if (format == WavFormat::Float32) {
      put(std::bit_cast<std::uint32_t>(sample), 4);
    } else if (format == WavFormat::Float64) {
      put(std::bit_cast<std::uint64_t>(static_cast<double>(sample)), 8);
    } else {
      const double value =
          std::isnan(sample) ? 0 : std::clamp(std::nearbyint(static_cast<double>(sample) * scale), -scale, scale - 1);
      put(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) ^ (bits == 8 ? 0x80 : 0), bytes);
    }
  }
  put(0, padding);
  return file;
} catch (...) { rethrow_as_memory_error("a WAV file"); }

void write_wav(const Sound& sound, const std::string& path, WavFormat format) try {
  write_file_atomically(path, encode_wav(sound, format));
} catch (...) { rethrow_as_memory_error(path); }

SoundBatch SoundBatcher::operator()(std::span<const LabelledSound> sounds) const {
  require<ShapeError>(!sounds.empty(), "sound batch: a batch needs at least one sound");
  require<ArgumentError>(frames >= 0, "sound batch: sounds cannot have ", frames, " frames");
  const Sound& first = sounds.front().sound;
  std::int64_t longest = frames;
  for (std::size_t i = 0; i < sounds.size(); ++i) {
    const Sound& sound = sounds[i].sound;
    require<ShapeError>(
        sound.channels >= 1 && sound.channels == first.channels && std::ssize(sound.samples) % sound.channels == 0,
        "sound batch: sound ", i, " has ", sound.samples.size(), " samples of ", sound.channels,
        " channels, the first ", first.channels, " channels");
    require<ArgumentError>(sound.rate == first.rate, "sound batch: sound ", i, " has ", sound.rate,
                           " frames a second, the first ", first.rate);
    if (frames == 0) longest = std::max(longest, sound.frames());
  }
  const std::int64_t count = std::ssize(sounds);
  SoundBatch batch{TensorData({count, first.channels, longest}, DType::F32), TensorData({count}, DType::I64),
                   TensorData({count}, DType::I64)};
  auto out = batch.samples.as<float>().begin();
  for (std::size_t i = 0; i < sounds.size(); ++i) {
    const Sound& sound = sounds[i].sound;
    const std::int64_t kept = std::min(sound.frames(), longest);
    for (std::int64_t channel = 0; channel < sound.channels; ++channel, out += longest) {
      for (std::int64_t frame = 0; frame < longest; ++frame)
        out[frame] = frame < kept ? sound.samples[static_cast<std::size_t>(frame * sound.channels + channel)] : 0.0f;
    }
    batch.frames.as<std::int64_t>()[i] = kept;
    batch.targets.as<std::int64_t>()[i] = sounds[i].label;
  }
  return batch;
}

}  // namespace kiln
