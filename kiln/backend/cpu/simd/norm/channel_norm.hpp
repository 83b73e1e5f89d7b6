// Statistics and kernels for batch norm and group norm. The statistics of pieces that fit the cache, about their own
// means, are merged in order. This takes one pass over memory and subtracts no large squares.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/grain.hpp"

namespace kiln::cpu::simd {

/// A coefficient for each element (step 1), or one for all elements (step 0).
struct Coefficients {
  const float* data;
  std::int64_t step;
};
/// One coefficient for all elements of a row.
class Constant {
 public:
  explicit Constant(float number) : number_(number) {}
  operator Coefficients() const { return {&number_, 0}; }

 private:
  float number_;
};

/// A mean as the sum of two floats. The rounding error of a single float may be larger than the deviations of the
/// numbers.
struct Centre {
  Coefficients number, rest;
};
class ConstantCentre {
 public:
  explicit ConstantCentre(double mean)
      : number_(static_cast<float>(mean)), rest_(static_cast<float>(mean - static_cast<float>(mean))) {}
  operator Centre() const { return {number_, rest_}; }

 private:
  Constant number_, rest_;
};

/// The mean of `count` numbers and the sum of their squared distances to it. merge() is from Chan, Golub, LeVeque,
/// 1983.
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void merge(const Moments& other);
};

/// The parameters of all rows in the gradient of a layer norm.
struct LayerRows {
  const float* weight;
  std::int64_t length;  // at most a few thousand
  bool centred;
  double epsilon;
};

// ---- vectors (channel_norm_rows.cpp) --------------------------------------------------------------------------------

struct NormRows {
  /// The moments of at most a few thousand numbers. If not `centred`, the mean counts as 0.
  Moments (*moments)(const float* x, std::int64_t count, bool centred);
  /// z = (x - mean) * scale * a + c
  void (*affine)(const float* x, const Centre& mean, float scale, Coefficients a, Coefficients c, float* z,
                 std::int64_t count);
  /// z = scale * (a * g + b * (x - mean) + c)
  void (*combine)(const float* g, const float* x, const Centre& mean, float scale, Coefficients a, Coefficients b,
                  Coefficients c, float* z, std::int64_t count);
  /// sums[0] += sum(a * g), sums[1] += sum(a * g * (x - mean)), sums[2] += sum(x - mean)
  void (*product_sums)(const float* g, Coefficients a, const float* x, float mean, std::int64_t count, double* sums);
  /// sums += g and products += g * (x - mean) * scale, element by element.
  void (*add_gradients)(const float* g, const float* x, const Centre& mean, float scale, std::int64_t count,
                        float* sums, float* products);
  /// Writes the gradient of x for some rows to z, and adds their gradients of weight and bias to dweight and dbias.
  void (*layer_gradients)(const float* x, const float* g, const LayerRows& s, std::int64_t rows, float* z,
                          float* dweight, float* dbias);
};

/// Returns the functions for the instruction set of this machine.
const NormRows& norm_rows();

// ---- plain (channel_norm.cpp) ---------------------------------------------------------------------------------------

inline constexpr std::int64_t kShortest = 16;   // the fewest elements of a channel that are worth a call
inline constexpr std::int64_t kGrain = 8192;    // the minimum number of elements per thread
inline constexpr std::int64_t kMostParts = 32;  // the most partial sums of a sum over rows

/// Splits `rows` rows of `length` elements each into at most kMostParts parts.
struct Parts {
  std::int64_t rows, grain;
  Parts(std::int64_t rows, std::int64_t length);
  std::int64_t count() const { return (rows + grain - 1) / grain; }
  /// Calls f(part, begin, end) for each part, which has rows [begin, end), on several threads.
  template <class F>
  void each(F&& f) const {
    parallel_pieces(rows, grain, [&](std::int64_t begin, std::int64_t end) { f(begin / grain, begin, end); });
  }
};

/// NormRows::moments and NormRows::product_sums for any number of elements.
Moments moments_of(const float* x, std::int64_t count, bool centred);
void add_products(const float* g, Coefficients a, const float* x, float mean, std::int64_t count, double* sums);

/// The coefficients of a channel in the gradient of batch norm. They are computed from its sums of g, of g * (x - mean)
/// and of x - mean, where the last is not 0 because the mean is rounded.
/// dx = weight / deviation * (g - mean(g) - (x - mean) * mean(g * (x - mean)) / deviation^2)
///    = a g + b (x - mean - rest) + c
struct ChannelGradient {
  float a, b, c, rest, dweight, dbias;
  ChannelGradient(double g, double gx, double x, std::int64_t count, float weight, double variance);
};

/// Returns the elements of an operand [channels], or `missing` for each channel if the operand is absent. T is float or
/// double.
template <class T = float>
std::vector<T> per_channel(const Value& value, std::int64_t channels, std::type_identity_t<T> missing = 1);
/// Allocates a result [channels] and writes `numbers` to it.
template <class T>
void write(const std::vector<T>& numbers, Value& result) {
  std::copy(numbers.begin(), numbers.end(), allocate(result).as<T>());
}

}  // namespace kiln::cpu::simd
