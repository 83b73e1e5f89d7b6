#include "kiln/backend/cpu/conv/conv.hpp"

#include "kiln/backend/cpu/conv/algorithms.hpp"
#include "kiln/backend/cpu/conv/choose.hpp"
#include "kiln/backend/cpu/conv/weight_sum.hpp"
#include "kiln/backend/cpu/engines.hpp"
#include "kiln/backend/cpu/family.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/ops/planned/epilogue.hpp"

namespace kiln::cpu {

FastKernels conv_kernels() {
  FastKernels kernels =
      family([](const auto& op, Call call) -> decltype(conv::run(op, call)) { return conv::run(op, call); });
  kernels.multiply = conv::multiply;
  return kernels;
}

namespace conv {
namespace {

/// Computes y by float32 kernels that write each element once.
void convolve_in_float32(Algorithm algorithm, const Geometry& g, const Array& x, const ConvOperand& weight,
                         const Array* bias, Value& result, const Epilogue* epilogue) {
  const bool is_finished = epilogue && epilogue->simple() && algorithm != Algorithm::Winograd;
  const ConvResult y(result, epilogue, is_finished);
  const float* const start = bias ? bias->as<float>() : nullptr;
  switch (algorithm) {
    case Algorithm::Depthwise: return depthwise_conv(g, x, weight, bias, y);
    case Algorithm::Direct: return direct_conv(g, x, weight, bias, y);
    case Algorithm::Winograd: return winograd_conv(g, x, weight, start, y);
    case Algorithm::Tiles: return tiles_conv(g, x, weight, start, y);
    default: KILN_CHECK(false);
  }
}

/// Computes the convolution, and passes its pieces to `epilogue` if there is one. Returns false if there is one, but
/// the algorithm has no pieces.
bool convolve(const op::Conv& op, Call call, const Epilogue* epilogue) {
  using Slot = op::Conv::Slot;
  const Geometry g = Geometry::of(op, call);
  if (g.empty()) return false;
  Value& y = call.out[0];
  const bool with_bias = call.in.size() > 2 && !call.in[Slot::bias].empty();
  const Algorithm algorithm =
      choose({Pass::Forward, g, y.dtype(), with_bias, epilogue != nullptr, &call.in[Slot::x]}).algorithm;
  if (algorithm == Algorithm::Reference) return false;
  if (epilogue && !hands_pieces_over(algorithm, g, epilogue->simple(), y)) return false;
  if (algorithm == Algorithm::Float32) return simd::through_float32<op::Conv>(op, call, run);

  const ConvOperand weight = ConvOperand::contiguous(call.in[Slot::weight]);
  if (algorithm == Algorithm::DepthwisePlanes || algorithm == Algorithm::PlaneSum) {
    (algorithm == Algorithm::PlaneSum ? plane_sum : depthwise_planes)(g, call.in[Slot::x], weight, y);
    return true;
  }
  const ConvOperand x = ConvOperand::channels_last(call.in[Slot::x]);
  const ConvOperand bias = with_bias ? ConvOperand::contiguous(call.in[Slot::bias]) : ConvOperand{};
  const Array* const start = with_bias ? &bias.array : nullptr;
  switch (algorithm) {
    case Algorithm::OnednnConv: linked_onednn()->conv.forward(g, x, weight, bias, y, epilogue); break;
    case Algorithm::AmxConv: linked_amx()->conv.forward(g, x, weight, bias, y, epilogue); break;
    case Algorithm::Windows: windows_conv(g, x, weight, start, y); break;
    default: convolve_in_float32(algorithm, g, x.array, weight, start, y, epilogue);
  }
  return true;
}

}  // namespace

bool run(const op::Conv& op, Call call) { return convolve(op, call, nullptr); }

bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue) {
  const auto* const conv = std::get_if<op::Conv>(&op.product);
  return conv && convolve(*conv, call, &epilogue);
}

bool run(const op::ConvTranspose& op, Call call) {
  using Slot = op::ConvTranspose::Slot;
  const Geometry g = Geometry::of(op, call);
  if (g.empty()) return false;
  Value& x = call.out[0];
  const Algorithm algorithm =
      choose({.pass = Pass::Data, .g = g, .dtype = x.dtype(), .image = &call.in[Slot::y]}).algorithm;
  if (algorithm == Algorithm::Reference) return false;
  if (algorithm == Algorithm::Float32) return simd::through_float32<op::ConvTranspose>(op, call, run);

  const ConvOperand weight = ConvOperand::contiguous(call.in[Slot::weight]);
  if (algorithm == Algorithm::DepthwisePlanes) {
    depthwise_planes_data(g, call.in[Slot::y], weight, x);
    return true;
  }
  const ConvOperand y = ConvOperand::channels_last(call.in[Slot::y]);
  switch (algorithm) {
    case Algorithm::OnednnConv: linked_onednn()->conv.data(g, y, weight, x); break;
    case Algorithm::AmxConv: linked_amx()->conv.data(g, y, weight, x); break;
    case Algorithm::Windows: windows_conv_data(g, y, weight, x); break;
    case Algorithm::Depthwise: depthwise_conv_data(g, y.array, weight, ConvResult(x, nullptr)); break;
    case Algorithm::Direct: direct_conv_data(g, y.array, weight, ConvResult(x, nullptr)); break;
    case Algorithm::Winograd: winograd_conv_data(g, y.array, weight, ConvResult(x, nullptr)); break;
    default: KILN_CHECK(false);
  }
  return true;
}

bool run(const op::ConvWeightGrad& op, Call call) {
  using Slot = op::ConvWeightGrad::Slot;
  const Geometry g = Geometry::of(op, call);
  if (g.empty()) return false;
  Value& weight = call.out[0];
  const Algorithm algorithm =
      choose({.pass = Pass::Weight, .g = g, .dtype = weight.dtype(), .image = &call.in[Slot::x]}).algorithm;
  if (algorithm == Algorithm::Reference) return false;
  if (algorithm == Algorithm::Float32) return simd::through_float32<op::ConvWeightGrad>(op, call, run);

  const bool in_planes = algorithm == Algorithm::DepthwisePlanes;
  const auto operand = in_planes ? ConvOperand::contiguous : ConvOperand::channels_last;
  const ConvOperand x = operand(call.in[Slot::x]), y = operand(call.in[Slot::y]);
  const auto sum = [&](auto sum_of_part) {
    const WeightParts parts(g, !in_planes);
    sum_of_parts(parts, weight, [&](std::int64_t i, float* sums) {
      sum_of_part(parts.part(i), parts.x_of(x.array, i), parts.y_of(y.array, i), sums);
    });
  };
  switch (algorithm) {
    case Algorithm::OnednnConv: linked_onednn()->conv.weight(g, x, y, weight); break;
    case Algorithm::AmxConv: linked_amx()->conv.weight(g, x, y, weight); break;
    case Algorithm::Windows: windows_conv_weight(g, x, y, weight); break;
    case Algorithm::WeightTiles: weight_tiles(g, x.array, y.array, allocate(weight).as<float>()); break;
    case Algorithm::DepthwisePlanes: sum(depthwise_planes_weight); break;
    case Algorithm::Depthwise: sum(depthwise_conv_weight); break;
    case Algorithm::Direct: sum(direct_conv_weight); break;
    default: KILN_CHECK(false);
  }
  return true;
}

}  // namespace conv
}  // namespace kiln::cpu
