#include <algorithm>
#include <optional>

#include "kiln/fusion/passes/passes.hpp"

namespace kiln::fusion {
namespace {

template <class T>
constexpr bool kIsMatmul = std::is_same_v<T, op::Matmul> || std::is_same_v<T, op::MatmulInteger>;
template <class T>
constexpr bool kIsProduct = kIsMatmul<T> || std::is_same_v<T, op::Conv> || std::is_same_v<T, op::ConvInteger>;
/// Whether the elements of the op's result keep their order under another shape. A convolution may store its result in
/// an order other than row-major.
template <class T>
constexpr bool kKeepsOrder = kIsMatmul<T> || std::is_same_v<T, op::LayerNorm>;

class EpilogueJoiner {
 public:
  EpilogueJoiner(Plan& plan, const Segment& segment, const FusionTraits::Epilogues& traits)
      : plan_(plan),
        segment_(segment),
        traits_(traits),
        readers_(readers_of(plan, segment)),
        gone_(plan.steps.size()) {}

  // Goes backwards: of several products that one step reads, it joins the last, whose operands live no longer for it.
  void run() {
    for (std::size_t i = plan_.steps.size(); i-- > 0;)
      op::visit(plan_.steps[i].op, [&]<class T>(const T& op) {
        if constexpr (kIsProduct<T>) join(i, T(op));
        else if constexpr (std::is_same_v<T, op::LayerNorm>) traits_.norms ? join(i, T(op)) : void();
      });
    std::vector<PlanStep> left;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i)
      if (!gone_[i]) left.push_back(std::move(plan_.steps[i]));
    plan_.steps = std::move(left);
  }

 private:
  const Desc& desc(Reference value) const { return segment_.values()[value.index()]->desc; }

  /// Returns the only step that reads a value, perhaps more than once; nothing if a handle outside the segment exists.
  std::optional<std::size_t> only_reader(std::uint32_t value) const {
    const std::vector<std::size_t>& readers = readers_[value];
    if (segment_.visible(value) || readers.empty()) return std::nullopt;
    if (std::ranges::any_of(readers, [&](std::size_t reader) { return reader != readers[0]; })) return std::nullopt;
    return readers[0];
  }

  template <class Product>
  void join(std::size_t product, const Product& op) {
    std::uint32_t value = plan_.steps[product].out[0];
    const auto& [shape, dtype] = desc(Reference::value(value));
    if (numel(shape) < (kKeepsOrder<Product> ? traits_.min_product : traits_.min_conv)) return;
    if (std::ranges::find(traits_.types, dtype) == traits_.types.end()) return;
    std::vector<std::size_t> joined{product};
    std::optional<std::size_t> reader = only_reader(value);
    for (; kKeepsOrder<Product> && reader && std::holds_alternative<op::Reshape>(plan_.steps[*reader].op.is);
         reader = only_reader(value)) {
      joined.push_back(*reader);
      value = plan_.steps[*reader].out[0];
    }
    if (!reader) return;
    const Reference result = Reference::value(value);
    PlanStep& step = plan_.steps[*reader];
    const auto* fused = std::get_if<op::Fused>(&step.op.is);
    if (!fused || !fused->program->folds.empty() || fused->program->shape != desc(result).shape) return;

    PlanStep& first = plan_.steps[product];
    SpareVector<Reference> inputs = step.in;
    const auto input = std::ranges::find(inputs, result);
    const op::Epilogue epilogue{.product = op,
                                .program = fused->program,
                                .result = desc(Reference::value(first.out[0])),
                                .operands = static_cast<std::uint16_t>(first.in.size()),
                                .input = static_cast<std::uint16_t>(input - inputs.begin())};
    if (traits_.accepts && !traits_.accepts(epilogue)) return;
    inputs.erase(input);
    inputs.insert(inputs.begin(), first.in.begin(), first.in.end());
    step.op = epilogue;
    step.in = std::move(inputs);
    for (const Reference operand : first.in)
      if (operand.is_value()) std::ranges::replace(readers_[operand.index()], product, *reader);
    for (const std::size_t gone : joined) gone_[gone] = true;
  }

  Plan& plan_;
  const Segment& segment_;
  const FusionTraits::Epilogues& traits_;
  std::vector<std::vector<std::size_t>> readers_;  // the steps that read each value
  std::vector<bool> gone_;                         // steps that are joined to others
};

}  // namespace

void join_epilogues(Plan& plan, const Segment& segment, const FusionTraits& traits) {
  if (traits.epilogues) EpilogueJoiner(plan, segment, *traits.epilogues).run();
}

}  // namespace kiln::fusion
