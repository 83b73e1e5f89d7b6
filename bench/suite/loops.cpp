// What a careful programmer would write by hand for two of the workloads: one loop that reads, computes in registers
// and writes past the caches, on every core.
#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>

#include <memory>

#include "bench/suite/workload.hpp"
#include "kiln/core/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/suite/loops.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Lanes = hn::Vec<Tag>;

template <class... More>
HWY_INLINE Lanes polynomial(Lanes s, Lanes sum, More... coefficients) {
  ((sum = hn::MulAdd(sum, s, hn::Set(Tag(), coefficients))), ...);
  return sum;
}

/// x times a rational function of x^2, fitted on [-3.925, 3.925] (error 4e-7 in float32); beyond it erf(x) is 1 or -1.
HWY_INLINE Lanes erf(Lanes x) {
  const Tag tag;
  const Lanes bound = hn::Set(tag, 3.925f), t = hn::Max(hn::Min(x, bound), hn::Neg(bound)), s = hn::Mul(t, t);
  const Lanes above = polynomial(s, hn::Set(tag, 2.03126199e-06f), 2.87389596e-04f, 3.87270992e-03f, 5.30733926e-02f,
                                 1.92890970e-01f, 1.12837903e+00f);
  const Lanes below = polynomial(s, hn::Set(tag, 3.80300557e-05f), 1.18882715e-03f, 1.51812353e-02f, 1.15133534e-01f,
                                 5.04276856e-01f, 1.0f);
  return hn::Div(hn::Mul(t, above), below);
}

HWY_INLINE Lanes gelu(Lanes x) {
  const Lanes half = hn::Mul(x, hn::Set(Tag(), 0.5f));
  return hn::MulAdd(half, erf(hn::Mul(x, hn::Set(Tag(), 0.70710678f))), half);
}

void gelu_of(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag()));
  for (std::int64_t i = 0; i < count; i += lanes) hn::Stream(gelu(hn::Load(Tag(), x + i)), Tag(), y + i);
  hwy::FlushStream();
}

void bias_gelu_residual_of(const float* HWY_RESTRICT x, const float* HWY_RESTRICT bias, float* HWY_RESTRICT y,
                           std::int64_t side) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag()));
  for (std::int64_t i = 0; i < side; i += lanes) {
    const Lanes from = hn::Load(Tag(), x + i), activated = gelu(hn::Add(from, hn::Load(Tag(), bias + i)));
    hn::Stream(hn::MulAdd(activated, hn::Set(Tag(), 0.5f), from), Tag(), y + i);
  }
  hwy::FlushStream();
}

}  // namespace bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bench {
HWY_EXPORT(gelu_of);
HWY_EXPORT(bias_gelu_residual_of);

namespace {

std::shared_ptr<float[]> numbers(std::int64_t count) {
  std::shared_ptr<float[]> memory = hwy::MakeUniqueAlignedArray<float>(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) memory[i] = static_cast<float>(i % 601 - 300) / 100;
  return memory;
}

}  // namespace

std::function<Sample()> gelu_loop(std::int64_t count) {
  return [=] {
    const auto x = numbers(count), y = numbers(count);
    return timed([=] {
      parallel_for(count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(gelu_of)(x.get() + begin, y.get() + begin, end - begin);
      });
    });
  };
}

std::function<Sample()> bias_gelu_residual_loop(std::int64_t side) {
  return [=] {
    const auto x = numbers(side * side), y = numbers(side * side), bias = numbers(side);
    return timed([=] {
      parallel_for(side, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
          HWY_DYNAMIC_DISPATCH(bias_gelu_residual_of)(x.get() + row * side, bias.get(), y.get() + row * side, side);
      });
    });
  };
}

}  // namespace bench
#endif
