#include "kiln/train/steps.hpp"

#include <algorithm>
#include <deque>

#include "kiln/ops/read.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::training {
namespace {

/// Bytes of an output that are sent to the host for metrics; larger ones stay where they are.
constexpr std::int64_t kMostCopied = 64 << 10;

}  // namespace

std::optional<AwaitedOutcome> AwaitedOutcome::of(const Outcome& outcome, const MetricList& metrics, bool awaited) {
  if (!outcome.output || outcome.loss->empty()) return {};  // reading an empty loss is an error
  Values all = {outcome.loss->value()};
  if (!metrics.empty()) {
    if (!outcome.type || !metrics.take_copies()) return {};
    std::int64_t bytes = 0;
    for (const Value& value : outcome.type->tensors(outcome.output.get())) {
      bytes += value.numel() * static_cast<std::int64_t>(size_of(value.dtype()));
      all.push_back(value.detach());
    }
    if (bytes > kMostCopied && !awaited) return {};
  }
  run_pending({all.data(), 1});
  if (!awaited && all[0].device().backend().state(all[0]) != Backend::State::Waiting) return {};
  Outcome kept = outcome;
  if (metrics.empty()) kept.output = {};  // nobody asks for it, and many of them may be large
  return AwaitedOutcome(std::move(kept), start_read(all));
}

void AwaitedOutcome::wait() {
  std::vector<TensorData> data = std::exchange(reading_, {})->wait();
  loss_ = data[0].to_vector<float>()[0];
  if (data.size() > 1) outcome_.output = outcome_.type->with(outcome_.output.get(), std::span(data).subspan(1));
}

void AwaitedOutcome::add_to(MetricList& metrics) const { metrics.update(outcome_.output.get(), loss_, outcome_.items); }

Batches first_of(Batches all, std::int64_t count) {
  Batches first = all;
  first.size = [size = all.size, count](std::int64_t epoch) { return std::min(size(epoch), count); };
  first.each = [each = std::move(all.each), count](std::int64_t epoch, std::int64_t from,
                                                   FunctionRef<bool(void*, bool)> f) {
    std::int64_t left = count - from;
    if (left > 0) each(epoch, from, [&](void* batch, bool owned) { return f(batch, owned) && --left > 0; });
  };
  return first;
}

void measure(FunctionRef<Outcome(void* batch, bool owned)> step, const Batches& data, MetricList& metrics) {
  constexpr std::size_t kMostAwaited = 16;
  const NoGrad pause;
  metrics.clear();
  metrics.begin();
  std::deque<AwaitedOutcome> awaited;
  const auto settle = [&](std::size_t most) {
    for (; awaited.size() > most || (!awaited.empty() && awaited.front().is_there()); awaited.pop_front()) {
      awaited.front().wait();
      awaited.front().add_to(metrics);
    }
  };
  data.each(0, 0, [&](void* batch, bool owned) {  // visits the same batches each time
    const Outcome outcome = step(batch, owned);
    if (std::optional<AwaitedOutcome> later = AwaitedOutcome::of(outcome, metrics, !awaited.empty())) {
      awaited.push_back(std::move(*later));
      settle(kMostAwaited);
    } else {
      settle(0);
      metrics.update(outcome.output.get(), outcome.loss->item(), outcome.items);
    }
    return true;
  });
  settle(0);
}

}  // namespace kiln::training
