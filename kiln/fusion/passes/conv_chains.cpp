#include <algorithm>
#include <memory>

#include "kiln/fusion/passes/passes.hpp"
#include "kiln/fusion/passes/sequence.hpp"

namespace kiln::fusion {
namespace {

using Slot = op::Conv::Slot;

/// Returns the convolution of a step, with or without an epilogue; null where the step is no convolution.
const op::Conv* conv_of(const Plan::Step& step) {
  if (const auto* epilogue = std::get_if<op::Epilogue>(&step.op.is))
    return step.out.size() == 1 ? std::get_if<op::Conv>(&epilogue->product) : nullptr;
  return std::get_if<op::Conv>(&step.op.is);
}

bool are_all(const Spatial& list, std::int64_t number) {
  return std::ranges::all_of(list, [&](std::int64_t each) { return each == number; });
}

class ConvChainer {
 public:
  ConvChainer(Plan& plan, const Segment& segment, const FusionTraits::ConvChains& traits)
      : plan_(plan), segment_(segment), traits_(traits) {}

  // The chain replaces the second step: its operands are computed by then, and nothing else reads the first's result.
  void run() {
    std::vector<Plan::Step>& steps = plan_.steps;
    for (std::size_t second = 1; second < steps.size(); ++second) {
      if (!is_depthwise(steps[second])) continue;
      const Reference between = steps[second].in[Slot::x];
      const auto first = std::ranges::find_if(
          steps, [&](const Plan::Step& step) { return !step.out.empty() && step.out[0] == between.index(); });
      if (first == steps.end() || !is_pointwise(*first) || readings(between) != 1) continue;
      if (segment_.visible(between.index()) || numel(shape(between)) < traits_.least) continue;
      steps[second] = chained(*first, steps[second]);
      steps.erase(first);
      --second;
    }
  }

 private:
  const Shape& shape(Reference value) const { return segment_.values()[value.index()]->desc.shape; }

  std::ptrdiff_t readings(Reference value) const {
    std::ptrdiff_t count = 0;
    for (const Plan::Step& step : plan_.steps) count += std::ranges::count(step.in, value);
    return count;
  }

  bool is_pointwise(const Plan::Step& step) const {
    const op::Conv* const conv = conv_of(step);
    return conv && conv->groups == 1 && are_all(conv->stride, 1) && are_all(conv->padding, 0) &&
           are_all(conv->padding_after, 0) &&
           numel(shape(step.in[Slot::weight])) == channels(step, 0) * channels(step, 1);
  }
  bool is_depthwise(const Plan::Step& step) const {
    const op::Conv* const conv = conv_of(step);
    return conv && step.in[Slot::x].is_value() && conv->groups == shape(step.in[Slot::x])[1] &&
           conv->groups == channels(step, 0);
  }
  /// Returns the size of dimension `dim` of a convolution's weight: dimension 0 is the channels of the result,
  /// dimension 1 the input channels of each group.
  std::int64_t channels(const Plan::Step& step, int dim) const { return shape(step.in[Slot::weight])[dim]; }

  Plan::Step chained(const Plan::Step& first, const Plan::Step& second) const {
    const auto sequence = std::make_shared<op::Sequence>();
    SequenceBuilder chain(segment_, *sequence);
    for (const Plan::Step* const step : {&first, &second})
      chain.add(*step, [&](std::uint32_t) { return step == &second; });
    return std::move(chain).finish(op::ConvChain{sequence});
  }

  Plan& plan_;
  const Segment& segment_;
  const FusionTraits::ConvChains& traits_;
};

}  // namespace

void chain_convs(Plan& plan, const Segment& segment, const FusionTraits& traits) {
  if (traits.conv_chains) ConvChainer(plan, segment, *traits.conv_chains).run();
}

}  // namespace kiln::fusion
