// The sampling functions that kernels of op::Random call, on one thread or many: numbers from random words, and samples
// that need a number of words not known beforehand, each from the element's own stream. They compute in double
// precision for all types.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

#include "kiln/core/convert.hpp"
#include "kiln/core/random.hpp"
#include "kiln/ops/special/special_math.hpp"

namespace kiln::sample {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// (0, 1): the middle of one of 2^32 or 2^52 equal intervals, so that neither end occurs and logarithms are finite.
inline double open_uniform(std::uint32_t word) { return (word + 0.5) * 0x1p-32; }
inline double open_uniform(std::uint32_t high, std::uint32_t low) {
  return (static_cast<double>(static_cast<std::uint64_t>(high) << 20 | low >> 12) + 0.5) * 0x1p-52;
}

/// The next T towards minus infinity; `number` may be infinite, but not minus infinity.
template <class T>
T next_below(T number) {
  if constexpr (is_half<T>) {
    if (number == 0) return T::from_bits(0x8001u);
    return T::from_bits(static_cast<std::uint16_t>(number > 0 ? number.bits - 1 : number.bits + 1));
  } else {
    return std::nextafter(number, -std::numeric_limits<T>::infinity());
  }
}

/// Maps a number in [0, 1) to [low, high), also where rounding to T would reach `high`.
template <class T>
T between(double low, double high, double unit) {
  const T number = convert<T>(low + unit * (high - low));
  return high > low && static_cast<double>(number) >= high ? next_below(number) : number;
}

/// Box and Muller's method: two numbers in [0, 1) give a radius and an angle, whose cosine and sine give two normal
/// numbers.
struct NormalPair {
  NormalPair(double of_distance, double of_angle) {
    const double distance = std::sqrt(-2 * std::log(1 - of_distance)), angle = 2 * std::numbers::pi * of_angle;
    even = distance * std::cos(angle), odd = distance * std::sin(angle);
  }
  double even, odd;  // for elements 2i and 2i + 1
};

class Stream {
 public:
  Stream(Key key, std::int64_t element) : words_(key, static_cast<std::uint64_t>(element)) {}
  double uniform() {
    const std::uint32_t high = words_.next();
    return open_uniform(high, words_.next());
  }
  double exponential() { return -std::log(uniform()); }
  /// Uses Marsaglia's polar method.
  double normal() {
    for (;;) {
      const double x = 2 * uniform() - 1, y = 2 * uniform() - 1, s = x * x + y * y;
      if (s < 1) return x * std::sqrt(-2 * std::log(s) / s);
    }
  }
  std::uint64_t word() {
    const std::uint64_t high = words_.next();
    return high << 32 | words_.next();
  }

 private:
  ElementWords words_;
};

/// Samples the normal distribution within [low, high], tails included: C. P. Robert, "Simulation of truncated normal
/// variables", 1995. NaN where a bound is NaN.
inline double truncated_normal(Stream& stream, double low, double high) {
  if (!(low <= high)) return kNan;
  if (low == high) return low;
  if (low <= 0 && high >= 0 && high - low > 1) {
    for (;;)
      if (const double x = stream.normal(); low <= x && x <= high) return x;
  }
  if (high < 0 || (high == 0 && low < 0)) return -truncated_normal(stream, -high, -low);
  // [low, high] is short, or lies above 0. The density falls from `peak` on.
  const double peak = low > 0 ? low : 0, rate = peak / 2 + std::hypot(peak / 2, 1);
  if (low < 0 || (high - low) * rate < 2) {
    for (;;) {
      const double x = low + (high - low) * stream.uniform();
      if (stream.exponential() > (x - peak) * (x + peak) / 2) return x;
    }
  }
  for (;;) {
    const double x = low + stream.exponential() / rate;
    if (x <= high && stream.exponential() > (x - rate) * (x - rate) / 2) return x;
  }
}

/// The logarithm of a sample of Gamma(shape, 1), which would underflow for a small shape: G. Marsaglia and W. W. Tsang,
/// "A simple method for generating gamma variables", 2000; below 1 by their boost, Gamma(shape + 1) * u^(1 / shape).
inline double log_gamma_draw(Stream& stream, double shape) {
  if (!(shape > 0)) return kNan;
  if (shape == kInfinity) return kInfinity;
  const double boost = shape < 1 ? -stream.exponential() / shape : 0;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = stream.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (-stream.exponential() < x * x / 2 + d * (1 - v + std::log(v))) return std::log(d * v) + boost;
  }
}
inline double gamma(Stream& stream, double shape) { return std::exp(log_gamma_draw(stream, shape)); }

inline double beta(Stream& stream, double a, double b) {
  const double x = log_gamma_draw(stream, a), y = log_gamma_draw(stream, b);
  if (x == y && std::abs(x) == kInfinity)  // both shapes are infinite, or so small that all weight is at the ends
    return x > 0 ? 0.5 : stream.uniform() * (a + b) < a;
  return 1 / (1 + std::exp(y - x));
}

/// mean - k + k log(k / mean), which is not negative, computed without cancellation: the deviance of C. Loader, "Fast
/// and accurate computation of binomial probabilities", 2000.
inline double poisson_deviance(double k, double mean) {
  const double t = (k - mean) / mean;
  if (std::abs(t) > 0.1) return k == 0 ? mean : mean - k + k * std::log(k / mean);
  // The power series of mean * ((1 + t) log(1 + t) - t).
  double sum = 0, power = t * t;
  for (int n = 2; n < 20; ++n, power *= -t) sum += power / (static_cast<double>(n) * (n - 1));
  return mean * sum;
}
/// The logarithm of a Poisson probability, k >= 0.
inline double log_poisson(double k, double mean) {
  if (k == 0) return -mean;
  // log(k!) = k log k - k + log(2 pi k) / 2 + rest
  const double rest = k < 20 ? special::lgamma(k + 1) - k * std::log(k) + k - std::log(2 * special::kPi * k) / 2
                             : 1 / (12 * k) - 1 / (360 * k * k * k);
  return -poisson_deviance(k, mean) - std::log(2 * special::kPi * k) / 2 - rest;
}

/// Below a rate of 10 it multiplies uniform numbers; above it uses W. Hörmann, "The transformed rejection method for
/// generating Poisson random variables", 1993 (algorithm PTRS).
inline double poisson(Stream& stream, double rate) {
  if (!(rate >= 0)) return kNan;
  if (rate == kInfinity) return rate;
  if (rate < 10) {
    const double least = std::exp(-rate);
    double count = 0;
    for (double product = stream.uniform(); product > least; product *= stream.uniform()) ++count;
    return count;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), squeeze = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = stream.uniform() - 0.5, v = stream.uniform(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= squeeze) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= log_poisson(k, rate)) return k;
  }
}

/// An integer in [low, high) without bias; the range is computed modulo 2^64, and 0 stands for 2^64.
inline std::int64_t integer(Stream& stream, std::int64_t low, std::int64_t high) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  std::uint64_t number = stream.word();
  if (range != 0) {
    // The numbers below 2^64 mod range would make some results more likely.
    for (const std::uint64_t unfair = (0 - range) % range; number < unfair;) number = stream.word();
    number %= range;
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + number);
}

}  // namespace kiln::sample
