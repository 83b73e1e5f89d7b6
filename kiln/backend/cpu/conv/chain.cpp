// A pointwise convolution and the depthwise one that alone reads its result (op::ConvChain). Each thread computes a
// line of the first when the second needs it and drops it when it is done with it, so that the intermediate result
// never leaves a near cache. The sums are those of running the two one after the other, whichever lines a thread
// computes.
#include <algorithm>
#include <optional>
#include <vector>

#include "kiln/backend/cpu/conv/choose.hpp"
#include "kiln/backend/cpu/conv/conv.hpp"
#include "kiln/backend/cpu/conv/depthwise.hpp"
#include "kiln/backend/cpu/conv/panels.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/simd/elementwise/simple_finish.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::cpu::conv {
namespace {

using std::int64_t;

/// A convolution of a sequence, and the epilogue of its result.
struct Link {
  const op::Conv* conv = nullptr;
  const op::Epilogue* epilogue = nullptr;
  SpareValues operands{};  // of the step; empty where the previous step computes one
  Geometry g{};
  std::optional<Finish> finish{};

  Link(const op::Sequence::Step& step, Inputs in) : epilogue(std::get_if<op::Epilogue>(&step.op.is)) {
    conv = epilogue ? std::get_if<op::Conv>(&epilogue->product) : std::get_if<op::Conv>(&step.op.is);
    for (const op::Sequence::Operand& from : step.in)
      operands.push_back(from.from == op::Sequence::Operand::Input ? in[from.index] : Value());
  }

  /// Returns false if the step is no convolution, or ends with more than its kernel can do to the elements that it
  /// stores.
  bool settle(const Shape& x, const Desc& y) {
    if (!conv || y.dtype != DType::F32) return false;
    g = Geometry::of(*conv, x, y.shape, Geometry::spatial(operands[op::Conv::Slot::weight].shape()));
    if (!epilogue) return true;
    const Dims order = channels_last_strides(y.shape);
    const Array nowhere{.data = nullptr, .dtype = y.dtype, .shape = y.shape, .strides = order};
    finish = simd::simple_finish(*epilogue, epilogue->inputs(operands, Value()), nowhere, order);
    return finish.has_value();
  }

  Operand weight() const { return Operand::contiguous(operands[op::Conv::Slot::weight]); }
  bool has_bias() const {
    const std::size_t count = epilogue ? epilogue->operands : operands.size();
    return count > op::Conv::Slot::bias && !operands[op::Conv::Slot::bias].empty();
  }
  /// Zeros if there is no bias.
  std::vector<float> bias() const {
    std::vector<float> result(static_cast<std::size_t>(g.out), 0.0f);
    if (has_bias())
      std::copy_n(Operand::contiguous(operands[op::Conv::Slot::bias]).array.as<float>(), g.out, result.begin());
    return result;
  }
};

/// Buffers some lines of the first convolution.
class Lines {
 public:
  Lines(const Link& link, const Array& x)
      : g_(link.g),
        x_(x.as<float>()),
        packer_{g_.out, g_.in, 1, tiles_.panel},
        packed_(packed(link.weight().value, packer_)),
        bias_(link.has_bias() ? link.bias() : std::vector<float>()),
        finish_(link.finish ? &*link.finish : nullptr) {}

  int64_t numbers() const { return g_.sizes.back() * g_.out; }

  /// Writes line `line`, counted over all images, to `y`.
  void make(int64_t line, float* y) const {
    const int64_t pixels = g_.sizes.back();
    const auto* const weight = reinterpret_cast<const float*>(packed_->bytes());
    const float* const x = x_ + line * pixels * g_.in;
    for (int64_t panel = 0; panel < packer_.count(); ++panel) {
      const int64_t channel = panel * packer_.panel;
      simd::ProductTail<float> tail{.bias = bias_.empty() ? nullptr : bias_.data() + channel};
      if (finish_) tail.has_bounds = finish_->has_bounds(), tail.low = finish_->low, tail.high = finish_->high;
      tiles_.multiply({x, g_.in, 1, g_.in * simd::rows_of_tile(pixels, tiles_.rows)},
                      {weight + panel * packer_.size(), packer_.panel, 1},
                      {y + channel, g_.out, y + channel, g_.out, tail}, pixels,
                      std::min(packer_.panel, g_.out - channel), g_.in, false, nullptr);
    }
  }

 private:
  const simd::ProductTiles<float>& tiles_ = simd::product_tiles<float>();
  const Geometry& g_;
  const float* x_;
  PackPanels packer_;
  Ref<Memory> packed_;
  std::vector<float> bias_;
  const Finish* finish_;
};

/// Returns the number of lines of y that a thread computes at a time, few of whose input lines another thread computes
/// as well; nothing if there are too few lines.
std::optional<int64_t> lines_of_band(const Geometry& g) {
  constexpr int64_t kMostAgain = 8;  // at most one line in so many is computed twice. bench: ONNX MobileNetV2
  const int64_t bands = divide_up(num_threads(), g.batch), lines = divide_up(g.result[0], bands);
  if (bands > 1 && kMostAgain * (g.reach(0) - g.stride[0]) > lines * g.stride[0]) return {};
  return lines;
}

}  // namespace

bool run(const op::ConvChain& op, Call call) {
  using Slot = op::Conv::Slot;
  const op::Sequence& sequence = *op.sequence;
  Link first(sequence.steps[0], call.in), second(sequence.steps[1], call.in);
  if (!first.conv || !second.conv || second.operands[Slot::x].node()) return false;
  const Value& x = first.operands[Slot::x];
  const Desc& between = sequence.results[0];
  if (!first.settle(x.shape(), between) || !second.settle(between.shape, {call.out[0].shape(), call.out[0].dtype()}))
    return false;
  const Geometry& g = second.g;
  if (g.empty() || !runs_in_chain(first.g, g, between.dtype) || (first.finish && first.finish->more)) return false;
  const std::optional<int64_t> band = lines_of_band(g);
  if (!band) return false;

  const Operand input = Operand::channels_last(x);
  const Lines lines(first, input.array);
  const Ref<Memory> weight = depthwise_weight(g, second.weight());
  const std::vector<float> bias = second.bias();
  DepthwiseShape shape = depthwise_shape(g);
  shape.held = std::min(shape.sizes[1], g.reach(0));
  float* const y = allocate(call.out[0], channels_last_strides(call.out[0].shape())).as<float>();
  if (second.finish) second.finish->to = y;
  const int64_t bands = divide_up(g.result[0], *band);
  parallel_for(g.batch * bands, 1, [&](int64_t begin, int64_t end) {
    const Memory ring(static_cast<std::size_t>(shape.held * lines.numbers()) * sizeof(float));
    auto* const held = reinterpret_cast<float*>(ring.bytes());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / bands, from = i % bands * *band;
      int64_t made = 0;
      for (int64_t row = from; row < std::min(g.result[0], from + *band); ++row) {
        const int64_t top = row * g.stride[0] - g.padding[0];
        for (made = std::max(made, top); made < std::min(g.sizes[0], top + g.reach(0)); ++made)
          lines.make(image * g.sizes[0] + made, held + made % shape.held * lines.numbers());
        depthwise_row(shape, held, reinterpret_cast<const float*>(weight->bytes()), bias.data(),
                      y + image * g.result[0] * g.result[1] * g.out, second.finish ? &*second.finish : nullptr, 0, row);
      }
    }
  });
  return true;
}

}  // namespace kiln::cpu::conv
