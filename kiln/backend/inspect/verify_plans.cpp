// Runs programs fused and unfused side by side: each value exists twice.
#include "kiln/backend/inspect/verifying.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/scope/fails_with.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/scope/requester.hpp"

namespace kiln {

/// A value of the fusing backend and the same value of the plain one.
struct VerifiedPlans::ValuePair {
  Value fused, plain;
  std::optional<DType> rounded;  // rounded differently in the two since the last comparison
  std::string made_by;           // "add of float32 [2, 3], 1.5"
  Name name;
};

/// Stored in place of memory.
struct VerifiedPlans::PairStorage final : Storage {
  PairStorage(Ref<VerifiedPlans> home, std::shared_ptr<ValuePair> both)
      : home(std::move(home)), both(std::move(both)) {}
  ~PairStorage() override {
    const std::lock_guard lock(home->mutex_);
    home->unchecked_.erase(both->name);
  }
  PairStorage(const PairStorage&) = delete;
  PairStorage& operator=(const PairStorage&) = delete;

  const Ref<VerifiedPlans> home;
  const std::shared_ptr<ValuePair> both;
};

namespace {

/// The type to which results are rounded in a way that depends on how they are computed: that of sums, whose order
/// follows the memory order of elements, and that of elementwise ops if the device `contracts` them.
std::optional<DType> rounded_by(const op::Op& op, const Call& call, bool contracts) {
  std::optional<DType> rounded = rounding_of(op);
  const bool depends = op::visit(op, [&]<class T>(const T&) {
    if (T::kTraits.pattern == Pattern::Elementwise) return contracts;
    return T::kTraits.pattern != Pattern::View && T::kTraits.pattern != Pattern::Creation;
  });
  if (!depends) return rounded;
  for (const Value& value : call.in)
    if (value.node()) rounded = coarser(rounded, value.dtype());
  for (const Value& value : call.out) rounded = coarser(rounded, value.dtype());
  return rounded;
}

}  // namespace

Ref<Storage> VerifiedPlans::pair_storage(Value fused, Value plain, std::optional<DType> rounded, std::string made_by) {
  const auto both = std::make_shared<ValuePair>(
      ValuePair{std::move(fused), std::move(plain), rounded, std::move(made_by), {std::this_thread::get_id(), 0}});
  {
    const std::lock_guard lock(mutex_);
    both->name.second = made_++;
    if (!both->made_by.empty()) unchecked_.emplace(both->name, both);
  }
  return make_ref<PairStorage>(Ref<VerifiedPlans>(this), both);
}

VerifiedPlans::ValuePair VerifiedPlans::read(const Value& value) const {
  // A server may have made a client's value a failure.
  const auto* const pair = dynamic_cast<const PairStorage*>(value.node()->storage.get());
  if (!pair) throw_failure(*failure_of(value.node()));
  const std::lock_guard lock(mutex_);
  return *pair->both;
}

void VerifiedPlans::run(const op::Op& op, Call call) {
  const NoGrad pause;
  std::optional<DType> rounded = rounded_by(op, call, contracts_);
  Values fused_in(call.in.begin(), call.in.end()), plain_in = fused_in, fused_out, plain_out;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (!call.in[i].node()) continue;
    ValuePair both = read(call.in[i]);
    fused_in[i] = std::move(both.fused);
    plain_in[i] = std::move(both.plain);
    if (both.rounded) rounded = coarser(rounded, *both.rounded);
  }
  for (const Value& value : call.out) {
    fused_out.emplace_back(make_ref<Node>(value.node()->desc, Device(inner_)));
    plain_out.emplace_back(make_ref<Node>(value.node()->desc, Device(plain_)));
  }
  Values fused_causes, plain_causes;
  for (const FailsWith* scope = FailsWith::innermost(); scope; scope = scope->outer())
    for (const Value& cause : scope->causes()) {
      if (!cause.node() || !dynamic_cast<const PairStorage*>(cause.node()->storage.get())) continue;
      ValuePair both = read(cause);
      fused_causes.push_back(std::move(both.fused));
      plain_causes.push_back(std::move(both.plain));
    }
  // An error here occurs again below, where it reaches the program as it would without Verify.
  Ref<Failure> failure = failure_among(plain_in);
  if (!failure)
    failure = attempt([&] {
      const RequestedBy nobody(nullptr);
      const FailsWith scope(plain_causes, FailsWith::ReplaceOuter());
      plain_->run(op, {is_view(op) ? plain_in : copies(plain_, plain_in, Device(plain_)), plain_out});
    });
  if (failure)
    for (const Value& value : plain_out) value.node()->storage = failure;
  const FailsWith scope(fused_causes, FailsWith::ReplaceOuter());
  inner_->run(op, {fused_in, fused_out});
  for (std::size_t i = 0; i < call.out.size(); ++i)
    call.out[i].node()->storage =
        pair_storage(std::move(fused_out[i]), std::move(plain_out[i]), rounded, described_call(op, call.in));
}

Ref<Node> VerifiedPlans::upload(TensorData data, const Device& device) {
  Value plain(plain_->upload(data, Device(plain_))), fused(inner_->upload(std::move(data), Device(inner_)));
  auto node = make_ref<Node>(fused.node()->desc, device);
  node->storage = pair_storage(std::move(fused), std::move(plain), {}, {});
  return node;
}

TensorData VerifiedPlans::download(const Value& value) {
  const ValuePair both = read(value);
  TensorData data = inner_->download(both.fused);
  compare_read(both.name);
  return data;
}

/// Compares all results that this thread asked for, and the one that it reads of another thread.
void VerifiedPlans::compare_read(const Name& name) {
  inner_->flush();
  const std::thread::id self = std::this_thread::get_id();
  compare_from({self, 0}, &self);
  if (name.first != self) compare(name);
}

/// Compares when the data are waited for.
class VerifiedPlans::ComparedRead final : public PendingRead {
 public:
  ComparedRead(Ref<PendingRead> inner, Ref<VerifiedPlans> home, std::vector<Name> names)
      : inner_(std::move(inner)), home_(std::move(home)), names_(std::move(names)) {}
  bool ready() const override { return inner_->ready(); }
  void notify(Wakeup then) override { inner_->notify(then); }
  std::vector<TensorData> wait() override {
    std::vector<TensorData> data = inner_->wait();
    for (const Name& name : names_) home_->compare_read(name);
    return data;
  }

 private:
  const Ref<PendingRead> inner_;
  const Ref<VerifiedPlans> home_;
  const std::vector<Name> names_;
};

Ref<PendingRead> VerifiedPlans::start_read(Inputs values) {
  Values fused;
  std::vector<Name> names;
  for (const Value& value : values) {
    ValuePair both = read(value);
    fused.push_back(std::move(both.fused));
    names.push_back(both.name);
  }
  return make_ref<ComparedRead>(inner_->start_read(fused), Ref<VerifiedPlans>(this), std::move(names));
}

void VerifiedPlans::run_pending(Inputs values) {
  Values fused(values.begin(), values.end());
  for (Value& value : fused)
    if (value.node()) value = read(value).fused;
  inner_->run_pending(fused);
}

// A remote session also asks about values that have yet to arrive, and about those that failed before they came here.
Backend::State VerifiedPlans::state(const Value& value) const {
  Storage* const storage = value.node() ? value.node()->storage.get() : nullptr;
  if (dynamic_cast<const PairStorage*>(storage)) return inner_->state(read(value).fused);
  return storage && storage->failure() ? State::Failed : State::Arrived;
}

void VerifiedPlans::sync() {
  inner_->sync();
  compare_from({}, nullptr);
}

/// Compares all unchecked values from `first` on; if `only` is given, just those that this thread asked for: other
/// threads' values may still be waiting, and must not run early.
void VerifiedPlans::compare_from(Name first, const std::thread::id* only) {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const auto next = unchecked_.lower_bound(first);
      if (next == unchecked_.end() || (only && next->first.first != *only)) return;
      first = next->first;
    }
    compare(first);
    ++first.second;
  }
}

// Values that agree count as equal from then on: where they agree only within the tolerance, differences do not add up.
void VerifiedPlans::compare(const Name& name) {
  std::shared_ptr<ValuePair> both;  // destroyed after the lock is released
  {
    const std::lock_guard lock(mutex_);
    const auto found = unchecked_.find(name);
    if (found == unchecked_.end()) return;
    both = found->second.lock();
    unchecked_.erase(found);
  }
  if (!both) return;
  // No other thread writes to it now.
  TensorData fused;
  if (attempt([&] { fused = inner_->download(both->fused); })) {
    // There is nothing to compare, and the reader has still to receive the error.
    if (const Ref<Failure> failure = failure_of(both->fused.node())) undo_throw(*failure);
    return;
  }
  throw_if_failed(both->plain);
  const std::string report = comparison_.differ(fused, plain_->download(both->plain), true, both->rounded);
  if (!report.empty()) {
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(unchecked_, [&](const auto& entry) { return entry.first.first == name.first; });
    }
    fail<VerifyError>(inner_->name(), ": ", both->made_by, " -> ", both->fused,
                      ": the plan gives other numbers than the operations one by one\n  ", report);
  }
  Value plain = copies(inner_, {&both->fused, 1}, Device(plain_))[0];
  const std::lock_guard lock(mutex_);
  std::swap(both->plain, plain);
  both->rounded = {};
}

Ref<Backend> VerifiedPlans::with_core(Wrap wrap) {
  Ref<Backend> core;
  Ref<Backend> whole = inner_->with_core([&](Ref<Backend> inner) { return core = wrap(std::move(inner)); });
  return make_ref<VerifiedPlans>(std::move(whole), std::move(core), comparison_);
}

}  // namespace kiln
