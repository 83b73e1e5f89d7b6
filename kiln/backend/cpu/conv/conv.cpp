#include "kiln/backend/cpu/conv/conv.hpp"

#include "kiln/backend/cpu/conv/depthwise.hpp"
#include "kiln/backend/cpu/conv/direct.hpp"
#include "kiln/backend/cpu/conv/tiles.hpp"
#include "kiln/backend/cpu/conv/weight_sum.hpp"
#include "kiln/backend/cpu/conv/weight_tiles.hpp"
#include "kiln/backend/cpu/conv/windows.hpp"
#include "kiln/backend/cpu/conv/winograd.hpp"
#include "kiln/backend/cpu/family.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/ops/planned/epilogue.hpp"

namespace kiln::cpu {

FastKernels conv_kernels() {
  FastKernels kernels = family([](const auto& op, Call call) { return conv::run(op, call); });
  kernels.multiply = conv::multiply;
  return kernels;
}

namespace conv {
namespace {

bool direct_fits(Pass pass, const Geometry& g, DType dtype) {
  return pass == Pass::Forward ? direct_forward_fits(g, dtype)
         : pass == Pass::Data  ? direct_data_fits(g, dtype)
                               : direct_weight_fits(g, dtype);
}
bool product_fits(Pass pass, const Geometry& g, DType dtype) {
  return pass == Pass::Forward ? product_forward_fits(g, dtype)
         : pass == Pass::Data  ? product_data_fits(g, dtype)
                               : product_weight_fits(g, dtype);
}

/// Doubles as well, as products of matrices.
bool computes(DType dtype) { return takes(dtype) || dtype == DType::F64; }

/// Halves that nobody else has a kernel for, in float32.
template <class Op>
bool widened(const Op& op, Call call, Pass pass, const Geometry& g) {
  return (is_ahead(pass, g, DType::F32) || product_can(g, DType::F32)) && simd::through_float32<Op>(op, call, run);
}

/// The convolution, its pieces given to `epilogue` where there is one; false then too where it has no pieces that could
/// be.
bool convolve(const op::Conv& op, Call call, const Epilogue* epilogue) {
  using Slot = op::Conv::Slot;
  const DType dtype = call.out[0].dtype();
  const Geometry g = Geometry::of(op, call);
  if (!computes(dtype) || g.empty()) return false;
  const bool depthwise = depthwise_fits(Pass::Forward, g, dtype), direct = !depthwise && direct_forward_fits(g, dtype);
  const bool winograd = !depthwise && !direct && winograd_fits(Pass::Forward, g, dtype);
  const bool own = depthwise || direct || winograd;
  const bool tiles = !own && tiles_fit(g, dtype);
  const bool in_registers = epilogue && epilogue->simple() && (tiles || depthwise || direct);
  if (epilogue && !in_registers && !(own && worth_finishing(call.out[0]))) return false;
  if (simd::is_half(dtype)) return widened(op, call, Pass::Forward, g);
  if (!own && !tiles && !product_can(g, dtype)) return false;

  const bool with_bias = call.in.size() > 2 && !call.in[Slot::bias].empty();
  const Operand weight = Operand::contiguous(call.in[Slot::weight]);
  if (!with_bias && !epilogue && (depthwise ? depthwise_planes : planes_conv)(g, call.in[Slot::x], weight, call.out[0]))
    return true;
  const Operand x = Operand::channels_last(call.in[Slot::x]);
  const Operand bias = with_bias ? Operand::contiguous(call.in[Slot::bias]) : Operand{};
  const Array* const start = with_bias ? &bias.array : nullptr;
  if (!own && !tiles) return product_conv(g, x, weight, start, call.out[0]);
  const ConvResult y(call.out[0], epilogue, in_registers);
  if (depthwise) depthwise_conv(g, x.array, weight, start, y);
  else if (direct) direct_conv(g, x.array, weight, start, y);
  else if (winograd) winograd_conv(g, x.array, weight, start ? start->as<float>() : nullptr, y);
  else tiles_conv(g, x.array, weight, start ? start->as<float>() : nullptr, y);
  return true;
}

}  // namespace

bool takes(DType dtype) { return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16; }

bool worth_finishing(const Value& result) {
  constexpr std::int64_t kLeastBytes = 1 << 18;
  return numel(result.shape()) * static_cast<std::int64_t>(size_of(result.dtype())) >= kLeastBytes;
}

bool is_ahead(Pass pass, const Geometry& g, DType dtype) {
  const bool tiled = pass == Pass::Forward ? tiles_fit(g, dtype) : pass == Pass::Weight && weight_tiles_fit(g, dtype);
  return tiled || winograd_fits(pass, g, dtype) || direct_fits(pass, g, dtype) || depthwise_is_ahead(pass, g, dtype) ||
         product_fits(pass, g, dtype);
}

bool run(const op::Conv& op, Call call) { return convolve(op, call, nullptr); }

bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue) {
  const auto* const conv = std::get_if<op::Conv>(&op.product);
  return conv && convolve(*conv, call, &epilogue);
}

bool run(const op::ConvTranspose& op, Call call) {
  using Slot = op::ConvTranspose::Slot;
  const DType dtype = call.out[0].dtype();
  const Geometry g = Geometry::of(op, call);
  if (!computes(dtype) || g.empty()) return false;
  const bool direct = direct_data_fits(g, dtype), depthwise = depthwise_fits(Pass::Data, g, dtype);
  const bool planes = depthwise_planes_fit(Pass::Data, g, dtype, call.in[Slot::y]);
  const bool own = direct || depthwise || winograd_fits(Pass::Data, g, dtype);
  if (!own && !planes && !product_can(g, dtype)) return simd::is_half(dtype) && widened(op, call, Pass::Data, g);
  const Operand weight = Operand::contiguous(call.in[Slot::weight]);
  if (planes) {
    depthwise_planes_data(g, call.in[Slot::y], weight, call.out[0]);
    return true;
  }
  const Operand y = Operand::channels_last(call.in[Slot::y]);
  if (!own) return product_conv_data(g, y, weight, call.out[0]);
  const ConvResult x(call.out[0], nullptr);
  if (depthwise) depthwise_conv_data(g, y.array, weight, x);
  else if (direct) direct_conv_data(g, y.array, weight, x);
  else winograd_conv_data(g, y.array, weight, x);
  return true;
}

bool run(const op::ConvWeightGrad& op, Call call) {
  using Slot = op::ConvWeightGrad::Slot;
  const DType dtype = call.out[0].dtype();
  const Geometry g = Geometry::of(op, call);
  if (!computes(dtype) || g.empty()) return false;
  const bool direct = direct_weight_fits(g, dtype), depthwise = depthwise_fits(Pass::Weight, g, dtype);
  const bool own = direct || depthwise, tiles = !own && weight_tiles_fit(g, dtype);
  if (!own && !tiles && !product_can(g, dtype)) return simd::is_half(dtype) && widened(op, call, Pass::Weight, g);
  const bool planes = depthwise_planes_fit(Pass::Weight, g, dtype, call.in[Slot::x]);
  const auto operand = planes ? Operand::contiguous : Operand::channels_last;
  const Operand x = operand(call.in[Slot::x]), y = operand(call.in[Slot::y]);
  if (tiles) {
    weight_tiles(g, x.array, y.array, allocate(call.out[0]).as<float>());
    return true;
  }
  if (!own) return product_conv_weight(g, x, y, call.out[0]);
  const auto sum = planes ? depthwise_planes_weight : depthwise ? depthwise_conv_weight : direct_conv_weight;
  const WeightParts parts(g, call.out[0], !planes);
  sum_of_parts(parts, call.out[0], [&](std::int64_t i, float* sums) {
    sum(parts.part(i), parts.x_of(x.array, i), parts.y_of(y.array, i), sums);
  });
  return true;
}

}  // namespace conv
}  // namespace kiln::cpu
