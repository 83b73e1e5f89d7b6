#include <algorithm>

#include "kiln/fusion/passes/passes.hpp"

namespace kiln::fusion {

void mark_streaming(Plan& plan, const Segment& segment, const FusionTraits& traits) {
  if (!traits.streaming) return;
  std::vector<bool> read(segment.values().size());
  std::vector<op::Fused*> last;
  std::int64_t bytes = 0;
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    auto* const fused = std::get_if<op::Fused>(&step->op.is);
    if (fused && std::ranges::none_of(step->out, [&](std::uint32_t value) { return read[value]; })) {
      last.push_back(fused);
      for (const std::uint32_t value : step->out) {
        const Desc& desc = segment.values()[value]->desc;
        bytes += numel(desc.shape) * static_cast<std::int64_t>(size_of(desc.dtype));
      }
    }
    for (const Reference operand : step->in)
      if (operand.is_value()) read[operand.index()] = true;
  }
  for (op::Fused* const fused : last) fused->streams = bytes > traits.streaming->max_cached;
}

}  // namespace kiln::fusion
