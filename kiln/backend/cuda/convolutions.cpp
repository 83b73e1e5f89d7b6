#include "kiln/backend/cuda/convolutions.hpp"

#include <algorithm>
#include <optional>

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

struct Operand {
  Shape sizes;
  Dims strides;
  std::int64_t alignment;
};

/// All that a plan depends on, for two or three spatial dimensions.
struct Question {
  Of kind;
  DType dtype;
  bool tf32;
  Operand x, weight, y;
  Spatial stride, padding, padding_after, dilation;
};

// cuDNN has no convolutions of one dimension, so a dimension of size 1 is added.
Operand operand_of(const gpu::Convolution::Tensor& x) {
  Operand made{x.sizes, x.strides, alignment_of(x.data, 16)};
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

Question question_of(const gpu::Convolution& of, bool tf32) {
  return {.kind = of.kind,
          .dtype = of.dtype,
          .tf32 = tf32,
          .x = operand_of(of.x),
          .weight = operand_of(of.weight),
          .y = operand_of(of.y),
          .stride = of_two(of.stride, 1),
          .padding = of_two(of.padding, 0),
          .padding_after = of_two(of.padding_after, 0),
          .dilation = of_two(of.dilation, 1)};
}

bool fits(const Question& question) {
  if (!type_of(question.dtype)) return false;
  return std::ranges::all_of(std::array{&question.x, &question.weight, &question.y}, [](const Operand* x) {
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

Descriptor convolution(const cudnn::Api& api, const Question& question) {
  using enum Attribute;
  const bool f64 = question.dtype == DType::F64;
  Descriptor made(api, Kind::Convolution);
  made.set(ConvolutionComputeType, f64 ? cudnn::DataType::Double : cudnn::DataType::Float)
      .set(ConvolutionMode, cudnn::Mode::CrossCorrelation)
      .set(ConvolutionSpatialDims, std::int64_t{question.stride.size()})
      .set(ConvolutionDilations, values(question.dilation))
      .set(ConvolutionStrides, values(question.stride))
      .set(ConvolutionPrePaddings, values(question.padding))
      .set(ConvolutionPostPaddings, values(question.padding_after))
      .finalize();
  return made;
}

// Rejects transforms, which lose digits and spread values that are not finite to their neighbours.
bool is_exact(std::span<const cudnn::Note> notes, const Question& question) {
  using enum cudnn::Note;
  return std::ranges::none_of(notes, [&](cudnn::Note note) {
    switch (note) {
      case TensorCore: return question.dtype == DType::F32 && !question.tf32;
      case DownConvertInputs:
      case ReducedPrecisionReduction:
      case Fft:
      case Nondeterministic:
      case Winograd: return true;
      default: return false;
    }
  });
}

void describe(cudnn::Graph& graph, const Question& question) {
  const cudnn::DataType type = *type_of(question.dtype);
  const Operation names = operation_of(question.kind);
  const auto operand = [&](const Operand& x) { return graph.operand(type, x.sizes, x.strides, x.alignment); };
  const auto x = operand(question.x), weight = operand(question.weight), y = operand(question.y);
  Descriptor operation(graph.api(), names.kind);
  operation.set(names.x, graph[x]).set(names.weight, graph[weight]).set(names.y, graph[y]);
  operation.set(names.convolution, graph.add(convolution(graph.api(), question)));
  if (question.dtype == DType::F64) operation.set(names.alpha, 1.0).set(names.beta, 0.0);
  else operation.set(names.alpha, 1.0f).set(names.beta, 0.0f);
  graph.add_operation(std::move(operation.finalize()));
}

}  // namespace

const Dnn::Plan* plan_of(Dnn& dnn, const gpu::Convolution& asked) {
  const Question question = question_of(asked, dnn.tf32());
  if (!fits(question)) return nullptr;
  return dnn.find(
      question, [&](cudnn::Graph& graph) { describe(graph, question); },
      [&](std::span<const cudnn::Note> notes) { return is_exact(notes, question); },
      [&] {
        return text("convolution x ", question.x.sizes, " weight ", question.weight.sizes, " y ", question.y.sizes, " ",
                    question.dtype);
      });
}

std::array<void*, 3> addresses_of(const gpu::Convolution& asked) {
  return {asked.x.data, asked.weight.data, asked.y.data};
}

}  // namespace kiln::cuda
