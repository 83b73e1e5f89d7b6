#include "kiln/rl/gif.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "kiln/core/error/error.hpp"

namespace kiln::rl {
namespace {

using Rgb = std::array<std::uint8_t, 3>;

Rgb colour_of(const Picture& picture, std::int64_t pixel) {
  const std::uint8_t* const at = &picture.pixels[static_cast<std::size_t>(pixel * picture.channels)];
  return picture.channels == 1 ? Rgb{at[0], at[0], at[0]} : Rgb{at[0], at[1], at[2]};
}

/// The index of each colour in the table.
class Palette {
 public:
  explicit Palette(std::span<const Picture> pictures) {
    for (const Picture& picture : pictures)
      for (std::int64_t pixel = 0; pixel < picture.height * picture.width && numbers_.size() <= kMost; ++pixel)
        numbers_.emplace(colour_of(picture, pixel), static_cast<std::uint8_t>(numbers_.size()));
    exact_ = numbers_.size() <= kMost;
  }
  std::uint8_t number(Rgb colour) const {
    if (exact_) return numbers_.at(colour);
    const auto step = [](int byte) { return (byte + 25) / 51; };
    return static_cast<std::uint8_t>(36 * step(colour[0]) + 6 * step(colour[1]) + step(colour[2]));
  }
  /// Writes 256 colours, padded with black.
  std::vector<Rgb> table() const {
    std::vector<Rgb> table(kMost);
    for (const auto& [colour, number] : numbers_)
      if (exact_) table[number] = colour;
    for (int i = 0; i < 216 && !exact_; ++i)
      table[static_cast<std::size_t>(i)] = {static_cast<std::uint8_t>(i / 36 * 51),
                                            static_cast<std::uint8_t>(i / 6 % 6 * 51),
                                            static_cast<std::uint8_t>(i % 6 * 51)};
    return table;
  }

 private:
  static constexpr std::size_t kMost = 256;
  std::map<Rgb, std::uint8_t> numbers_;
  bool exact_;
};

class Bytes {
 public:
  void byte(int value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void number(std::int64_t value) {
    byte(static_cast<int>(value & 255));
    byte(static_cast<int>(value >> 8));
  }
  void text(std::string_view text) {
    for (const char letter : text) byte(letter);
  }
  std::vector<std::byte> taken() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Writes codes of 9 to 12 bits in blocks of up to 255 bytes.
class Codes {
 public:
  explicit Codes(Bytes& out) : out_(out) {}
  void put(int code, int bits) {
    held_ |= static_cast<std::uint32_t>(code) << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, held_ >>= 8) add(static_cast<std::uint8_t>(held_));
  }
  void end() {
    if (count_ > 0) add(static_cast<std::uint8_t>(held_));
    flush();
    out_.byte(0);
  }

 private:
  void add(std::uint8_t byte) {
    block_.push_back(byte);
    if (block_.size() == 255) flush();
  }
  void flush() {
    if (block_.empty()) return;
    out_.byte(static_cast<int>(block_.size()));
    for (const std::uint8_t byte : block_) out_.byte(byte);
    block_.clear();
  }

  Bytes& out_;
  std::vector<std::uint8_t> block_;
  std::uint32_t held_ = 0;
  int count_ = 0;
};

/// Compresses by GIF's method, Lempel-Ziv-Welch: one code for each run that occurred before.
void compress(std::span<const std::uint8_t> pixels, Bytes& out) {
  constexpr int kClear = 256, kEnd = 257, kCodes = 4096;
  out.byte(8);
  Codes codes(out);
  std::vector<std::int16_t> longer(kCodes * 256);  // the code of a run and the pixel after it; 0 where there is none
  int next = 0, bits = 0;
  const auto clear = [&] {
    std::ranges::fill(longer, std::int16_t{0});
    next = kEnd + 1;
    bits = 9;
  };
  clear();
  codes.put(kClear, bits);
  int run = pixels[0];
  for (const std::uint8_t pixel : pixels.subspan(1)) {
    std::int16_t& known = longer[static_cast<std::size_t>(run) * 256 + pixel];
    if (known != 0) {
      run = known;
      continue;
    }
    codes.put(run, bits);
    if (next < kCodes) {
      known = static_cast<std::int16_t>(next);
      if (next++ == 1 << bits) ++bits;
    } else {
      codes.put(kClear, bits);
      clear();
    }
    run = pixel;
  }
  codes.put(run, bits);
  if (next == 1 << bits && bits < 12) ++bits;  // a reader has one more code now
  codes.put(kEnd, bits);
  codes.end();
}

}  // namespace

std::vector<std::byte> encode_gif(std::span<const Picture> pictures, std::int64_t milliseconds) {
  require<ShapeError>(!pictures.empty(), "encode_gif: there are no pictures");
  require<ArgumentError>(10 <= milliseconds && milliseconds <= 655350 && milliseconds % 10 == 0,
                         "encode_gif: a picture of ", milliseconds, " ms: must be 10 to 655350, a multiple of 10");
  const Picture& first = pictures[0];
  require<ArgumentError>(first.height <= 65535 && first.width <= 65535, "encode_gif: ", first.height, " x ",
                         first.width, " pixels are more than 65535 a side");
  for (const Picture& picture : pictures) {
    require_sound("encode_gif", picture);
    require<ShapeError>(picture.height == first.height && picture.width == first.width &&
                            (picture.channels == 1 || picture.channels == 3),
                        "encode_gif: pictures must be of one size, and of 1 or 3 channels");
  }
  const Palette palette(pictures);
  Bytes out;
  out.text("GIF89a");
  out.number(first.width);
  out.number(first.height);
  out.byte(0xf7);  // a table of 256 colours follows
  out.number(0);
  for (const Rgb& colour : palette.table())
    for (const std::uint8_t channel : colour) out.byte(channel);
  out.text("!\xff\x0bNETSCAPE2.0\x03\x01");  // repeats forever
  out.number(0);
  out.byte(0);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(first.height * first.width));
  for (const Picture& picture : pictures) {
    out.text("!\xf9\x04");
    out.byte(0);
    out.number(milliseconds / 10);
    out.number(0);
    out.byte(',');
    out.number(0);
    out.number(0);
    out.number(picture.width);
    out.number(picture.height);
    out.byte(0);
    for (std::size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = palette.number(colour_of(picture, static_cast<std::int64_t>(i)));
    compress(pixels, out);
  }
  out.byte(';');
  return std::move(out).taken();
}

}  // namespace kiln::rl
