// Random numbers by the block, the same on every machine.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/core/random.hpp"

namespace kiln::cpu::simd {

inline constexpr std::int64_t kDrawn = 1024;  // words in a block

/// Words [block * kDrawn, (block + 1) * kDrawn) of a stream.
void draw_words(Key key, std::uint64_t block, std::uint32_t* words);

/// The same as 16-bit halves, the lower one first.
inline void draw_halves(Key key, std::uint64_t block, std::uint16_t* halves) {
  draw_words(key, block, reinterpret_cast<std::uint32_t*>(halves));
}

/// to_uniform(word) >= probability, as a comparison of whole numbers: word >> 8 >= threshold.
std::uint32_t uniform_threshold(double probability);

/// ones[i] = to_uniform(words[i]) < probability of the threshold
void draw_bernoulli(const std::uint32_t* words, std::uint32_t threshold, float* ones, std::int64_t count);
/// [low, high), as written for op::Random.
void draw_uniform(const std::uint32_t* words, double low, double high, float* numbers, std::int64_t count);
/// The same of two words each.
void draw_uniform(const std::uint32_t* words, double low, double high, double* numbers, std::int64_t count);
/// Box and Muller over pairs of words: all kDrawn of them are read and written.
void draw_normal(const std::uint32_t* words, double mean, double deviation, float* numbers);
/// -log(u) / rate, for the middle u of the 2^-32 that a word names; all kDrawn words are read and numbers written.
void draw_exponential(const std::uint32_t* words, double rate, float* numbers);
/// z[i] = x[i] * scale where bits[i] reaches the threshold, else 0.
void drop(const float* x, const std::uint16_t* bits, std::uint32_t threshold, float scale, float* z,
          std::int64_t count);

}  // namespace kiln::cpu::simd
