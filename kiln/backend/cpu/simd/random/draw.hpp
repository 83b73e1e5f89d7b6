// Blocks of random numbers, the same on every machine.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/core/random.hpp"

namespace kiln::cpu::simd {

inline constexpr std::int64_t kBlockWords = 1024;  // the number of words in a block

struct DrawKernels {
  /// Writes words [block * kBlockWords, (block + 1) * kBlockWords) of the stream of `key`.
  void (*words)(Key key, std::uint64_t block, std::uint32_t* words);
  /// ones[i] = 1 if to_uniform(words[i]) is below the probability of the threshold, else 0.
  void (*bernoulli)(const std::uint32_t* words, std::uint32_t threshold, float* ones, std::int64_t count);
  /// Writes numbers uniform in [low, high), by the definition at op::Random.
  void (*uniform)(const std::uint32_t* words, double low, double high, float* numbers, std::int64_t count);
  /// Writes doubles uniform in [low, high), each from two words.
  void (*uniform_double)(const std::uint32_t* words, double low, double high, double* numbers, std::int64_t count);
  /// Writes normal numbers by the method of Box and Muller from pairs of words; reads kBlockWords words and writes
  /// kBlockWords numbers.
  void (*normal)(const std::uint32_t* words, double mean, double deviation, float* numbers);
  /// Writes -log(u) / rate, where u is the middle of the interval of length 2^-32 that a word stands for; reads
  /// kBlockWords words and writes kBlockWords numbers.
  void (*exponential)(const std::uint32_t* words, double rate, float* numbers);
  /// z[i] = x[i] * scale if bits[i] >= threshold, else 0.
  void (*drop)(const float* x, const std::uint16_t* bits, std::uint32_t threshold, float scale, float* z,
               std::int64_t count);
};
/// Returns the functions for the instruction set of this machine.
const DrawKernels& draw_kernels();

/// Returns the threshold with which the integer comparison word >> 8 >= threshold means to_uniform(word) >=
/// probability.
std::uint32_t uniform_threshold(double probability);

}  // namespace kiln::cpu::simd
