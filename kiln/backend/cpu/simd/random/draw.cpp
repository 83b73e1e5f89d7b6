// This file is compiled without contraction to fused multiply-adds, so that every target gives the same bits.
#include "kiln/backend/cpu/simd/random/draw.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/random/draw.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using Words = hn::ScalableTag<std::uint32_t>;

#if HWY_TARGET == HWY_SCALAR
void words_of(Key key, std::uint64_t block, std::uint32_t* words) {
  for (std::uint64_t i = 0; i < kBlockWords / 4; ++i) {
    const PhiloxWords four = philox(key, block * (kBlockWords / 4) + i);
    for (std::size_t k = 0; k < 4; ++k) words[4 * i + k] = four[k];
  }
}
#else
/// Lanes twice as wide as a word, which hold a product of two words. Only the lower half of a lane is read as a factor,
/// so the upper half need not be cleared until the end.
using Wide = hn::RepartitionToWide<Words>;
HWY_INLINE hn::Vec<Wide> multiply(hn::Vec<Wide> a, hn::Vec<Words> factor) {
  return hn::MulEven(hn::BitCast(Words(), a), factor);
}
HWY_INLINE hn::Vec<Wide> upper(hn::Vec<Wide> product) {
  return hn::BitCast(Wide(), hn::DupOdd(hn::BitCast(Words(), product)));
}

void words_of(Key key, std::uint64_t block, std::uint32_t* words) {
  constexpr int kRounds = 10;
  const Wide tag;
  const std::size_t lanes = hn::Lanes(tag);
  const std::uint64_t first =
      block * (kBlockWords / 4);  // a multiple of 256: its low word does not wrap within the block
  std::uint64_t low_keys[kRounds], high_keys[kRounds];
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    low_keys[round] = static_cast<std::uint32_t>(key.bits) + round * 0x9E3779B9u;
    high_keys[round] = static_cast<std::uint32_t>(key.bits >> 32) + round * 0xBB67AE85u;
  }
  const auto low_factor = hn::Set(Words(), 0xD2511F53u), high_factor = hn::Set(Words(), 0xCD9E8D57u);
  const auto low_words = hn::Set(tag, 0xFFFFFFFFu);
  auto counter = hn::Iota(tag, first & 0xFFFFFFFFu);
  for (std::size_t i = 0; i < kBlockWords / 4; i += lanes, counter = hn::Add(counter, hn::Set(tag, lanes))) {
    auto a = counter, b = hn::Set(tag, first >> 32);
    auto c = hn::Zero(tag), d = hn::Zero(tag);
    for (int round = 0; round < kRounds; ++round) {
      const auto p = multiply(a, low_factor), q = multiply(c, high_factor);
      a = hn::Xor3(upper(q), b, hn::Set(tag, low_keys[round]));
      b = q;
      c = hn::Xor3(upper(p), d, hn::Set(tag, high_keys[round]));
      d = p;
    }
    const auto ab = hn::OrAnd(hn::ShiftLeft<32>(b), a, low_words), cd = hn::OrAnd(hn::ShiftLeft<32>(d), c, low_words);
    hn::StoreInterleaved2(ab, cd, tag, reinterpret_cast<std::uint64_t*>(words + 4 * i));
  }
}
#endif

// The compiler vectorises the following loops.
HWY_INLINE bool reaches(std::uint32_t word, std::uint32_t threshold) {
  return static_cast<std::int32_t>(word >> 8) >= static_cast<std::int32_t>(threshold);
}
void bernoulli_of(const std::uint32_t* HWY_RESTRICT words, std::uint32_t threshold, float* HWY_RESTRICT ones,
                  std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) ones[i] = reaches(words[i], threshold) ? 0.0f : 1.0f;
}
void drop_of(const float* HWY_RESTRICT x, const std::uint16_t* HWY_RESTRICT bits, std::uint32_t threshold, float scale,
             float* HWY_RESTRICT z, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float kept = x[i] * scale;
    z[i] = std::int32_t{bits[i]} >= static_cast<std::int32_t>(threshold) ? kept : 0.0f;
  }
}
void uniform_of(const std::uint32_t* HWY_RESTRICT words, double low, double high, float* HWY_RESTRICT numbers,
                std::int64_t count) {
  // `beyond` is the least float that is not below `high`, which rounding may reach; `last` is the float before it.
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float beyond = static_cast<float>(high);
  if (static_cast<double>(beyond) < high) beyond = std::nextafter(beyond, infinity);
  const float last = std::nextafter(beyond, -infinity);
  if (!(high > low)) beyond = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t i = 0; i < count; ++i) {
    const float number = static_cast<float>(low + static_cast<double>(to_uniform(words[i])) * (high - low));
    numbers[i] = number >= beyond ? last : number;
  }
}
void uniform_double_of(const std::uint32_t* HWY_RESTRICT words, double low, double high, double* HWY_RESTRICT numbers,
                       std::int64_t count) {
  const double last = std::nextafter(high, -std::numeric_limits<double>::infinity());
  const double beyond = high > low ? high : std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t i = 0; i < count; ++i) {
    const double number = low + to_uniform(words[2 * i], words[2 * i + 1]) * (high - low);
    numbers[i] = number >= beyond ? last : number;
  }
}
void normal_of(const std::uint32_t* words, double mean, double deviation, float* numbers) {
  constexpr std::int64_t pairs = kBlockWords / 2;
  double distance[pairs], angle[pairs], sine[pairs];
  for (std::int64_t i = 0; i < pairs; ++i) {
    distance[i] = 1 - static_cast<double>(to_uniform(words[2 * i]));
    angle[i] = 2 * std::numbers::pi * static_cast<double>(to_uniform(words[2 * i + 1]));
  }
  for (std::size_t i = 0; i < pairs; i += kLanes<double>) {
    const Vector<double> length = sqrt(-2 * log(Vector<double>::load(distance + i))) * deviation;
    const Vector<double> turn = Vector<double>::load(angle + i);
    store(length * sin(turn) + mean, sine + i);
    store(length * cos(turn) + mean, distance + i);
  }
  for (std::int64_t i = 0; i < pairs; ++i) {
    numbers[2 * i] = static_cast<float>(distance[i]);
    numbers[2 * i + 1] = static_cast<float>(sine[i]);
  }
}
void exponential_of(const std::uint32_t* words, double rate, float* numbers) {
  double u[kBlockWords];
  for (std::int64_t i = 0; i < kBlockWords; ++i) u[i] = (words[i] + 0.5) * 0x1p-32;
  for (std::size_t i = 0; i < kBlockWords; i += kLanes<double>) store(-log(Vector<double>::load(u + i)) / rate, u + i);
  for (std::int64_t i = 0; i < kBlockWords; ++i) numbers[i] = static_cast<float>(u[i]);
}

constexpr DrawKernels kDrawKernels{words_of,  bernoulli_of,   uniform_of, uniform_double_of,
                                   normal_of, exponential_of, drop_of};
const DrawKernels& find_draw_kernels() { return kDrawKernels; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(find_draw_kernels);
const DrawKernels& draw_kernels() { return HWY_DYNAMIC_DISPATCH(find_draw_kernels)(); }

std::uint32_t uniform_threshold(double probability) {
  if (!(probability <= 1)) return 1u << 24;  // which no word reaches; also for NaN
  return probability <= 0 ? 0 : static_cast<std::uint32_t>(std::ceil(probability * 0x1p24));
}

}  // namespace kiln::cpu::simd
#endif
