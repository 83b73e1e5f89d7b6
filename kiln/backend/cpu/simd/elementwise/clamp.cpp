#include "kiln/backend/cpu/simd/elementwise/clamp.hpp"

#include <algorithm>
#include <type_traits>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/elementwise/stream.hpp"
#include "kiln/backend/strided/strided.hpp"
#include "kiln/core/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/clamp.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/elementwise/half_lanes.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// What Maximum gives of x and low, and Minimum of that and high, neither of which is NaN.
template <class D>
HWY_INLINE hn::Vec<D> clamped(D, hn::Vec<D> x, hn::Vec<D> low, hn::Vec<D> high) {
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
    // Of two equal numbers the second is taken, as for single numbers: zeros may differ in sign.
    const auto above = hn::IfThenElse(hn::Gt(x, low), x, low);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Lt(above, high), above, high));
  } else {
    return hn::Min(hn::Max(x, low), high);
  }
}

template <class T>
void clamp_numbers(const T* x, T* z, std::int64_t count, T low, T high) {
  if constexpr (is_half<T>) {
    const hn::ScalableTag<float> tag;
    constexpr auto lanes = static_cast<std::int64_t>(kLanes<float>);
    const auto least = hn::Set(tag, low), most = hn::Set(tag, high);
    const auto step = [&](const T* from, T* to) HWY_ATTR {
      Halves<dtype_of<T>>::store(clamped(tag, load_half(from).lanes, least, most), reinterpret_cast<std::byte*>(to));
    };
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) step(x + i, z + i);
    T last[lanes];
    std::copy(x + i, x + count, last);
    step(last, last);
    std::copy_n(last, count - i, z + i);
  } else {
    const hn::ScalableTag<T> tag;
    constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(tag));
    const auto least = hn::Set(tag, low), most = hn::Set(tag, high);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(clamped(tag, hn::LoadU(tag, x + i), least, most), tag, z + i);
    T last[lanes] = {};
    std::copy(x + i, x + count, last);
    hn::StoreU(clamped(tag, hn::LoadU(tag, last), least, most), tag, last);
    std::copy_n(last, count - i, z + i);
  }
}

void clamp_of(DType dtype, const std::byte* x, std::byte* z, std::int64_t count, const Scalar& low,
              const Scalar& high) {
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    using Number = std::conditional_t<is_half<T>, float, T>;  // which becomes a half as results of float do
    if constexpr (!std::is_same_v<T, bool>)
      clamp_numbers(reinterpret_cast<const T*>(x), reinterpret_cast<T*>(z), count, static_cast<T>(low.to<Number>()),
                    static_cast<T>(high.to<Number>()));
  });
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(clamp_of);

Clamp::Clamp(const op::Program& program) {
  using From = op::ProgramOperand;
  const auto& steps = program.steps;
  if (steps.size() != 2 || program.outputs.size() != 1 || program.outputs[0] != 1 || !program.folds.empty()) return;
  const auto does = [&](std::size_t i, op::BinaryFn fn) {
    const auto* const binary = std::get_if<op::Binary>(&steps[i].op);
    return binary && binary->fn == fn && steps[i].in[1].from == From::Input && steps[i].dtype != DType::Bool;
  };
  is_one = does(0, op::BinaryFn::Maximum) && does(1, op::BinaryFn::Minimum) && steps[0].in[0].from == From::Input &&
           steps[1].in[0].from == From::Result;
  x = steps[0].in[0].index, low = steps[0].in[1].index, high = steps[1].in[1].index;
}

bool Clamp::run(const op::Program& program, Call call) const {
  if (!is_one || !call.in[low].is_scalar() || !call.in[high].is_scalar() || call.in[x].is_scalar()) return false;
  const Scalar &least = call.in[low].scalar(), &most = call.in[high].scalar();
  const auto is_nan = [](const Scalar& number) { return number.to<double>() != number.to<double>(); };
  const Array from = read(call.in[x]);
  const auto size = static_cast<std::int64_t>(size_of(from.dtype));
  const Dims order = follow_order(program.shape, call.in.subspan(x, 1));
  if (from.shape != program.shape || !strided::is_dense(from.shape, from.strides) || is_nan(least) || is_nan(most) ||
      !strided::same_order(from.shape, order, from.strides) || 2 * from.numel() * size >= kStreamedBytes)
    return false;
  reuse_memory(call.out[0], order, call, x);
  const Array to = allocate(call.out[0], order);
  parallel_for(from.numel(), kMinBytesPerThread / size, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(clamp_of)
    (from.dtype, from.data + begin * size, to.data + begin * size, end - begin, least, most);
  });
  return true;
}

}  // namespace kiln::cpu::simd
#endif
