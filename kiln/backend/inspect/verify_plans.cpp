// Fused and unfused side by side: each value lives twice.
#include "kiln/backend/inspect/verifying.hpp"
#include "kiln/ops/no_grad.hpp"

namespace kiln {

/// In place of memory: the value as the fusing backend knows it and as the plain one does.
struct VerifiedPlans::Twins final : Storage {
  Twins(Ref<VerifiedPlans> home, Value fused, Value plain) : home(std::move(home)), fused(fused), plain(plain) {}
  ~Twins() override {
    const std::lock_guard lock(home->mutex_);
    home->unchecked_.erase(age);
  }
  Twins(const Twins&) = delete;
  Twins& operator=(const Twins&) = delete;

  const Ref<VerifiedPlans> home;
  Value fused, plain;
  std::int64_t age = -1;
  std::optional<DType> rounded;  // in some manner of its own, since the last comparison
  std::string made_by;           // "add of float32 [2, 3], 1.5"
};

namespace {

/// What results are rounded to in a manner that depends on how they are computed: half precision, and what sums have,
/// since their order follows that of the elements in memory.
std::optional<DType> rounded_by(const op::Op& op, const Call& call) {
  std::optional<DType> rounded = half_of(op, call);
  const bool sums = op::visit(op, []<class T>(const T&) {
    return T::kPattern != Pattern::Elementwise && T::kPattern != Pattern::View && T::kPattern != Pattern::Creation;
  });
  if (!sums) return rounded;
  for (const Value& value : call.in)
    if (value.node()) rounded = coarser(rounded, value.dtype());
  for (const Value& value : call.out) rounded = coarser(rounded, value.dtype());
  return rounded;
}

}  // namespace

void VerifiedPlans::run(const op::Op& op, Call call) {
  const NoGrad pause;
  const auto twins_of = [](const Value& value) { return static_cast<const Twins*>(value.node()->storage.get()); };
  std::optional<DType> rounded = rounded_by(op, call);
  Values fused_in(call.in.begin(), call.in.end()), plain_in = fused_in, fused_out, plain_out;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (!call.in[i].node()) continue;
    fused_in[i] = twins_of(call.in[i])->fused;
    plain_in[i] = twins_of(call.in[i])->plain;
    if (const auto& known = twins_of(call.in[i])->rounded) rounded = coarser(rounded, *known);
  }
  for (const Value& value : call.out) {
    fused_out.emplace_back(make_ref<Node>(value.node()->desc, Device(inner_)));
    plain_out.emplace_back(make_ref<Node>(value.node()->desc, Device(plain_)));
  }
  plain_->run(op, {plain_in, plain_out});
  inner_->run(op, {fused_in, fused_out});
  const std::string made_by = described_call(op, call.in);
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    const auto twins = make_ref<Twins>(Ref<VerifiedPlans>(this), std::move(fused_out[i]), std::move(plain_out[i]));
    twins->made_by = made_by;
    twins->rounded = rounded;
    const std::lock_guard lock(mutex_);
    twins->age = made_++;
    unchecked_.emplace(twins->age, twins.get());
    call.out[i].node()->storage = twins;
  }
}

Ref<Node> VerifiedPlans::upload(TensorData data, const Device& device) {
  const Value fused(inner_->upload(std::move(data), Device(inner_)));
  auto node = make_ref<Node>(fused.node()->desc, device);
  node->storage = make_ref<Twins>(Ref<VerifiedPlans>(this), fused, on_backend(plain_, {&fused, 1})[0]);
  return node;
}

TensorData VerifiedPlans::download(const Value& value) {
  const Value fused = static_cast<const Twins&>(*value.node()->storage).fused;
  TensorData data = inner_->download(fused);
  compare_all();
  return data;
}

void VerifiedPlans::sync() {
  inner_->sync();
  compare_all();
}

// What agrees is the same from then on: where results are only near each other, distances do not add up.
void VerifiedPlans::compare_all() {
  inner_->flush();
  const std::lock_guard lock(mutex_);
  for (auto entry = unchecked_.begin(); entry != unchecked_.end(); entry = unchecked_.erase(entry)) {
    Twins& twins = *entry->second;
    const std::string report =
        comparison_.differ(inner_->download(twins.fused), plain_->download(twins.plain), true, twins.rounded);
    if (!report.empty()) {
      const std::string made_by = twins.made_by;
      unchecked_.clear();
      fail<VerifyError>(inner_->name(), ": ", made_by, " -> ", twins.fused,
                        ": the plan gives other numbers than the operations one by one\n  ", report);
    }
    twins.rounded = {};
    twins.plain = on_backend(plain_, {&twins.fused, 1})[0];
  }
}

Ref<Backend> VerifiedPlans::with_core(Wrap wrap) {
  Ref<Backend> core;
  Ref<Backend> whole = inner_->with_core([&](Ref<Backend> inner) { return core = wrap(std::move(inner)); });
  return make_ref<VerifiedPlans>(std::move(whole), std::move(core), comparison_);
}

}  // namespace kiln
