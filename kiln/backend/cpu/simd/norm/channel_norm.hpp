// What batch and group norm share. Statistics are those of pieces that fit the cache, about their own means, merged in
// order: one pass over memory, and no difference of large squares.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/grain.hpp"

namespace kiln::cpu::simd {

/// A coefficient for each element (step 1), or one for all (step 0).
struct Coefficients {
  const float* data;
  std::int64_t step;
};
/// A number for all elements of a row.
class Constant {
 public:
  explicit Constant(float number) : number_(number) {}
  operator Coefficients() const { return {&number_, 0}; }

 private:
  float number_;
};

/// A mean as two floats: what the first leaves of it may be more than the numbers vary by.
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

/// The mean of `count` numbers and the sum of squared distances to it; they merge (Chan, Golub, LeVeque, 1983).
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void merge(const Moments& other);
};

/// What the rows of a layer norm have in common whose gradient is asked for.
struct LayerRows {
  const float* weight;
  std::int64_t length;  // at most a few thousand
  bool centred;
  double epsilon;
};

// ---- vectors (channel_norm_rows.cpp) ---------------------------------------------------------------------------------

struct NormRows {
  /// Of at most a few thousand numbers; about 0 where not centred.
  Moments (*moments)(const float* x, std::int64_t count, bool centred);
  /// z = (x - mean) * scale * a + c
  void (*affine)(const float* x, const Centre& mean, float scale, Coefficients a, Coefficients c, float* z,
                 std::int64_t count);
  /// z = scale * (a * g + b * (x - mean) + c)
  void (*combine)(const float* g, const float* x, const Centre& mean, float scale, Coefficients a, Coefficients b,
                  Coefficients c, float* z, std::int64_t count);
  /// sums[0] += sum(a * g), sums[1] += sum(a * g * (x - mean)), sums[2] += sum(x - mean)
  void (*product_sums)(const float* g, Coefficients a, const float* x, float mean, std::int64_t count, double* sums);
  /// sums += g and products += g * (x - mean) * scale, number by number.
  void (*add_gradients)(const float* g, const float* x, const Centre& mean, float scale, std::int64_t count,
                        float* sums, float* products);
  /// z = the gradient of x of some rows; theirs of weight and bias are added to dweight and dbias.
  void (*layer_gradients)(const float* x, const float* g, const LayerRows& s, std::int64_t rows, float* z,
                          float* dweight, float* dbias);
};

/// For the machine at hand.
const NormRows& norm_rows();

// ---- plain (channel_norm.cpp) ----------------------------------------------------------------------------------------

inline constexpr std::int64_t kShortest = 16;   // elements of a channel that are worth a call
inline constexpr std::int64_t kGrain = 8192;    // elements worth a thread's while
inline constexpr std::int64_t kMostParts = 32;  // partial sums of what is summed over rows

/// Up to kMostParts parts of `rows` rows, each of `length` elements.
struct Parts {
  std::int64_t rows, grain;
  Parts(std::int64_t rows, std::int64_t length);
  std::int64_t count() const { return (rows + grain - 1) / grain; }
  /// Calls f(part, begin, end).
  template <class F>
  void each(F&& f) const {
    parallel_pieces(rows, grain, [&](std::int64_t begin, std::int64_t end) { f(begin / grain, begin, end); });
  }
};

/// The same as those of NormRows, of any number of elements.
Moments moments_of(const float* x, std::int64_t count, bool centred);
void add_products(const float* g, Coefficients a, const float* x, float mean, std::int64_t count, double* sums);

/// What a channel's part in the gradient of batch norm is, made of its sums of g, of g * (x - mean) and of x - mean, which the
/// rounding of the mean leaves:
/// dx = weight / deviation * (g - mean(g) - (x - mean) * mean(g * (x - mean)) / deviation^2) = a g + b (x - mean - rest) + c
struct ChannelGradient {
  float a, b, c, rest, dweight, dbias;
  ChannelGradient(double g, double gx, double x, std::int64_t count, float weight, double variance);
};

/// An operand of [channels]; without one, `missing` for each. T is float or double.
template <class T = float>
std::vector<T> per_channel(const Value& value, std::int64_t channels, std::type_identity_t<T> missing = 1);
/// Gives a result of [channels] its memory and numbers.
template <class T>
void write(const std::vector<T>& numbers, Value& result) {
  std::copy(numbers.begin(), numbers.end(), allocate(result).as<T>());
}

}  // namespace kiln::cpu::simd
