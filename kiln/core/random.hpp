// A counter-based random generator (Philox 4x32-10; Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011): element i of a stream is a pure function of (key, i), so that every device and any number of threads generate
// the same numbers.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>

namespace kiln {

/// Names a stream of random numbers. Splitting gives streams that do not overlap in practice.
struct Key {
  std::uint64_t bits = 0;
  /// Returns the stream number `index` below this one.
  Key split(std::uint64_t index) const;
  friend bool operator==(const Key&, const Key&) = default;
};

using PhiloxWords = std::array<std::uint32_t, 4>;

/// The generator itself, ten rounds; defined here so that kernels can inline it.
constexpr PhiloxWords philox(PhiloxWords counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0], b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

/// Four 32-bit words for counter `block` of the stream `key`: philox({low, high, 0, 0}, {low, high}) with the
/// halves of block and key.
PhiloxWords philox(Key key, std::uint64_t block);

/// Word `index` of the stream: philox(key, index / 4)[index % 4].
std::uint32_t random_word(Key key, std::uint64_t index);

/// A number in [0, 1) from the upper 24 bits of a word.
inline float to_uniform(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
/// A number in [0, 1) from 53 bits of two words.
inline double to_uniform(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(static_cast<std::uint64_t>(high) << 21 | low >> 11) * 0x1p-53;
}

/// Decides which elements of a tensor are dropped: element i where 16 bits of the stream, bits 16 * (i % 2) and up of
/// word i / 2, are below `threshold`. The drop probability is thereby the nearest multiple of 1 / 65536, and `scale`,
/// the factor of kept elements, makes the expectation exact for that multiple.
struct DropoutThreshold {
  explicit DropoutThreshold(double probability)
      : threshold(!(probability <= 1) ? 65536  // NaN too: nothing is kept
                  : probability <= 0  ? 0
                                      : static_cast<std::uint32_t>(std::lround(probability * 65536))),
        scale(threshold < 65536 ? 65536.0 / (65536 - threshold) : 0) {}
  bool keeps(std::uint16_t bits) const { return bits >= threshold; }

  std::uint32_t threshold;  // 0 to 65536
  double scale;
};

/// A stream of its own for each element of a tensor, for sampling that takes a number of words not known beforehand:
/// word i is philox({low, high, 2, i / 4}, key)[i % 4] with the halves of `element`.
class ElementWords {
 public:
  ElementWords(Key key, std::uint64_t element)
      : counter_{static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32), 2, 0},
        key_{static_cast<std::uint32_t>(key.bits), static_cast<std::uint32_t>(key.bits >> 32)} {}
  std::uint32_t next() {
    if (used_ == 4) {
      words_ = philox(counter_, key_);
      ++counter_[3];
      used_ = 0;
    }
    return words_[used_++];
  }

 private:
  PhiloxWords counter_, words_{};
  std::array<std::uint32_t, 2> key_;
  std::size_t used_ = 4;
};

/// A sequence of keys, as a device's seed gives them: Generator(7) gives the same keys as device.seed(7). Where a
/// function takes a key, a generator may be passed and gives its next one. A copy continues from the same position.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : key_{seed} {}
  explicit Generator(Key key) : key_(key) {}
  Key next() { return key_.split(drawn_++); }
  operator Key() { return next(); }
  /// Returns a generator that shares no key with this one, for another thread or another part of a program.
  Generator split() { return Generator(next()); }
  friend bool operator==(const Generator&, const Generator&) = default;

 private:
  Key key_;
  std::uint64_t drawn_ = 0;
};

/// A sequential view of a stream, for host code such as shuffling and augmentation. Word i is random_word(key, i).
class Random {
 public:
  explicit Random(Key key) : key_(key) {}
  explicit Random(std::uint64_t seed) : key_{seed} {}
  std::uint32_t word();
  double uniform();                         // [0, 1), 53 bits
  double uniform(double low, double high);  // [low, high)
  double normal();                          // mean 0, variance 1
  std::int64_t below(std::int64_t limit);   // [0, limit), unbiased; limit >= 1

 private:
  Key key_;
  std::uint64_t next_ = 0;
  PhiloxWords block_{};
};

}  // namespace kiln
