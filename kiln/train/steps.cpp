#include "kiln/train/steps.hpp"

#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::training {

void measure(FunctionRef<Outcome(void* batch, bool owned)> step, const Batches& data, MetricList& metrics) {
  const NoGrad pause;
  metrics.clear();
  metrics.begin();
  data.each(0, 0, [&](void* batch, bool owned) {  // visits the same batches each time
    const Outcome outcome = step(batch, owned);
    metrics.update(outcome.output.get(), outcome.loss->item(), outcome.items);
    return true;
  });
}

}  // namespace kiln::training
