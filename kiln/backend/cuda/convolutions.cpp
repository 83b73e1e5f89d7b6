#include "kiln/backend/cuda/convolutions.hpp"

#include <algorithm>
#include <optional>

#include "kiln/ops/scope/float32_precision.hpp"

namespace kiln::cuda {
namespace {

using cudnn::Attribute, cudnn::Descriptor, cudnn::Kind;
using Of = gpu::Convolution::Kind;

std::optional<cudnn::DataType> type_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return cudnn::DataType::Double;
    case DType::F32: return cudnn::DataType::Float;
    case DType::F16: return cudnn::DataType::Half;
    case DType::BF16: return cudnn::DataType::BFloat16;
    default: return std::nullopt;
  }
}

struct ConvTensor {
  Shape sizes;
  Dims strides;
  std::int64_t alignment;
};

/// The key has all that a plan depends on, for two or three spatial dimensions.
struct ConvKey {
  Of kind;
  DType dtype;
  bool tf32;
  ConvTensor x, weight, y;
  Spatial stride, padding, padding_after, dilation;
};

// cuDNN has no convolutions of one dimension, so a dimension of size 1 is added.
ConvTensor operand_of(const gpu::Convolution::Tensor& x) {
  ConvTensor made{x.sizes, x.strides, alignment_of(x.data, 16)};
  if (x.sizes.size() == 3) {
    made.sizes.insert(2, 1);
    made.strides.insert(2, x.sizes[2] * x.strides[2]);
  }
  return made;
}
Spatial of_two(Spatial axes, std::int64_t first) {
  if (axes.size() == 1) axes.insert(0, first);
  return axes;
}

ConvKey key_of(const gpu::Convolution& of) {
  return {.kind = of.kind,
          .dtype = of.dtype,
          .tf32 = of.dtype == DType::F32 && Float32Precision::said() == Float32Precision::High,
          .x = operand_of(of.x),
          .weight = operand_of(of.weight),
          .y = operand_of(of.y),
          .stride = of_two(of.stride, 1),
          .padding = of_two(of.padding, 0),
          .padding_after = of_two(of.padding_after, 0),
          .dilation = of_two(of.dilation, 1)};
}

bool fits(const ConvKey& key) {
  if (!type_of(key.dtype)) return false;
  return std::ranges::all_of(std::array{&key.x, &key.weight, &key.y}, [](const ConvTensor* x) {
    std::int64_t reach = 0;  // some of cuDNN's kernels use 32-bit indices
    for (int dim = 0; dim < x->sizes.size(); ++dim) {
      if (x->sizes[dim] < 1 || x->strides[dim] < 1) return false;
      if (x->sizes[dim] > INT32_MAX || x->strides[dim] > INT32_MAX) return false;
      reach += (x->sizes[dim] - 1) * x->strides[dim];
    }
    return reach < INT32_MAX;
  });
}

/// The attributes of a kind of operation.
struct Operation {
  Kind kind;
  Attribute alpha, beta, convolution, x, weight, y;
};
Operation operation_of(Of kind) {
  using enum Attribute;
  switch (kind) {
    case Of::DataGradient:
      return {Kind::ConvolutionBackwardData, DataAlpha, DataBeta, DataConvolution, DataX, DataWeight, DataY};
    case Of::WeightGradient:
      return {
          Kind::ConvolutionBackwardFilter, FilterAlpha, FilterBeta, FilterConvolution, FilterX, FilterWeight, FilterY};
    default:
      return {
          Kind::ConvolutionForward, ForwardAlpha, ForwardBeta, ForwardConvolution, ForwardX, ForwardWeight, ForwardY};
  }
}

std::span<const std::int64_t> values(const auto& list) { return {list.begin(), static_cast<std::size_t>(list.size())}; }

Descriptor convolution(const cudnn::Api& api, const ConvKey& key) {
  using enum Attribute;
  const bool f64 = key.dtype == DType::F64;
  Descriptor made(api, Kind::Convolution);
  made.set(ConvolutionComputeType, f64 ? cudnn::DataType::Double : cudnn::DataType::Float)
      .set(ConvolutionMode, cudnn::Mode::CrossCorrelation)
      .set(ConvolutionSpatialDims, std::int64_t{key.stride.size()})
      .set(ConvolutionDilations, values(key.dilation))
      .set(ConvolutionStrides, values(key.stride))
      .set(ConvolutionPrePaddings, values(key.padding))
      .set(ConvolutionPostPaddings, values(key.padding_after))
      .finalize();
  return made;
}

// Rejects transforms, which lose digits and spread values that are not finite to their neighbours.
bool is_exact(std::span<const cudnn::Note> notes, const ConvKey& key) {
  using enum cudnn::Note;
  return std::ranges::none_of(notes, [&](cudnn::Note note) {
    switch (note) {
      case TensorCore: return key.dtype == DType::F32 && !key.tf32;
      case DownConvertInputs:
      case ReducedPrecisionReduction:
      case Fft:
      case Nondeterministic:
      case Winograd: return true;
      default: return false;
    }
  });
}

void describe(cudnn::Graph& graph, const ConvKey& key) {
  const cudnn::DataType type = *type_of(key.dtype);
  const Operation names = operation_of(key.kind);
  const auto operand = [&](const ConvTensor& x) { return graph.operand(type, x.sizes, x.strides, x.alignment); };
  const auto x = operand(key.x), weight = operand(key.weight), y = operand(key.y);
  Descriptor operation(graph.api(), names.kind);
  operation.set(names.x, graph[x]).set(names.weight, graph[weight]).set(names.y, graph[y]);
  operation.set(names.convolution, graph.add(convolution(graph.api(), key)));
  if (key.dtype == DType::F64) operation.set(names.alpha, 1.0).set(names.beta, 0.0);
  else operation.set(names.alpha, 1.0f).set(names.beta, 0.0f);
  graph.add_operation(std::move(operation.finalize()));
}

}  // namespace

const Dnn::Plan* plan_of(Dnn& dnn, const gpu::Convolution& asked) {
  const ConvKey key = key_of(asked);
  if (!fits(key)) return nullptr;
  return dnn.find(
      key, [&](cudnn::Graph& graph) { describe(graph, key); },
      [&](std::span<const cudnn::Note> notes) { return is_exact(notes, key); },
      [&] {
        return text("convolution x ", key.x.sizes, " weight ", key.weight.sizes, " y ", key.y.sizes, " ", key.dtype);
      });
}

std::array<void*, 3> addresses_of(const gpu::Convolution& asked) {
  return {asked.x.data, asked.weight.data, asked.y.data};
}

}  // namespace kiln::cuda
