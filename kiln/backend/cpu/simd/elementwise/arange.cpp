// Numbers in equal steps, a block at a time: counted in the type that they are exact in, then converted.
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/backend/cpu/simd/simd.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/core/wrapping.hpp"
#include "kiln/ops/create/create_ops.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/arange.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

// The compiler makes vectors of these loops.
void count_whole(std::int64_t start, const std::int64_t* HWY_RESTRICT places, std::int64_t* HWY_RESTRICT numbers,
                 std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = wrapping_add(start, places[i]);
}
/// One product, rounded once.
void count_real(double first, double pace, double start, const double* HWY_RESTRICT places,
                double* HWY_RESTRICT numbers, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = first + (start + places[i]) * pace;
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(count_whole);
HWY_EXPORT(count_real);

namespace {

constexpr std::int64_t kBlock = 1024;

template <class C>
void count_as(const Array& z, C first, C pace) {
  const auto bytes = static_cast<std::int64_t>(size_of(z.dtype));
  parallel_chunks(z.numel(), limited_grain(64 * kBlock, kBlock), [&](std::int64_t begin, std::int64_t end) {
    C numbers[kBlock], places[kBlock];
    for (std::int64_t i = 0; i < kBlock; ++i)
      places[i] = std::is_integral_v<C> ? wrapping_multiply(static_cast<C>(i), pace) : static_cast<C>(i);
    for (std::int64_t at = begin; at < end; at += kBlock) {
      const std::int64_t count = std::min(kBlock, end - at);
      C* const block = z.dtype == dtype_of<C> ? z.as<C>() + at : numbers;
      if constexpr (std::is_integral_v<C>)
        HWY_DYNAMIC_DISPATCH(count_whole)(wrapping_add(first, wrapping_multiply(at, pace)), places, block, count);
      else HWY_DYNAMIC_DISPATCH(count_real)(first, pace, static_cast<double>(at), places, block, count);
      if (block == numbers) convert(dtype_of<C>, numbers, z.dtype, z.data + at * bytes, count);
    }
  });
}

}  // namespace

bool run(const op::Arange&, Call call) {
  const Array z = allocate(call.out[0]);
  const Scalar &start = call.in[op::Arange::start].scalar(), &step = call.in[op::Arange::step].scalar();
  const bool whole = start.kind() != Kind::Float && step.kind() != Kind::Float;
  if (whole) count_as(z, start.to<std::int64_t>(), step.to<std::int64_t>());
  else count_as(z, start.to<double>(), step.to<double>());
  return true;
}

}  // namespace kiln::cpu::simd
#endif
