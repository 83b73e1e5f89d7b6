#include "tests/support/backends/queued.hpp"

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/fusion_traits.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/scope/fails_with.hpp"
#include "tests/support/backends/late_read.hpp"

namespace kiln::test {

/// A value of the inner backend that is not computed yet.
struct Queued::Promise final : Storage {
  explicit Promise(Desc desc) : desc_(desc) {}
  const Desc& desc() const { return desc_; }
  bool ready() const override { return kept_.load(std::memory_order_acquire); }
  Failure* failure() override { return ready() ? failed_.get() : nullptr; }

  void keep(Value value) {
    value_ = std::move(value);
    kept_.store(true, std::memory_order_release);
  }
  void fail_with(Ref<Failure> failure) {
    failed_ = std::move(failure);
    kept_.store(true, std::memory_order_release);
  }
  /// Requires ready().
  const Value& value() const { return value_; }

 private:
  const Desc desc_;
  std::atomic<bool> kept_{false};
  Value value_;
  Ref<Failure> failed_;
};

struct Queued::Task {
  op::Op op;
  Values numbers;                // operands that are plain numbers
  std::vector<Ref<Promise>> in;  // operands that are tensors
  std::vector<Ref<Promise>> causes;
  std::vector<Ref<Promise>> out;
  Ref<Requester> requester;
  const char* function;  // as named by CalledAs
  bool guarded;
};

Ref<Queued::Promise> Queued::promise_of(const Value& value) {
  return Ref<Promise>(value.node() ? static_cast<Promise*>(value.node()->storage.get()) : nullptr);
}

void Queued::run(const op::Op& op, Call call) {
  require<DeviceError>(has_kernel(op), "queued: was asked for ", op, ", of which it said that it has no kernel");
  Task task{op, {}, {}, {}, {}, Requester::current(), CalledAs::function(), FailsWith::any()};
  for (const Value& value : call.in) {
    task.numbers.push_back(value.node() ? Value() : value);
    task.in.push_back(promise_of(value));
  }
  for (const FailsWith* scope = FailsWith::innermost(); scope; scope = scope->outer())
    for (const Value& cause : scope->causes())
      if (cause.node() && dynamic_cast<Promise*>(cause.node()->storage.get())) task.causes.push_back(promise_of(cause));
  for (Value& value : call.out) {
    auto promise = make_ref<Promise>(value.node()->desc);
    value.node()->storage = promise;
    task.out.push_back(std::move(promise));
  }
  if (worker.is_this_thread()) run_task(task);  // a step of a planned op
  else worker.add([this, task = std::move(task)] { run_task(task); });
}

void Queued::run_task(const Task& task) {
  Ref<Failure> failure;
  for (const auto* list : {&task.in, &task.causes})
    for (const Ref<Promise>& promise : *list)
      if (promise) failure = joined(failure, Ref<Failure>(promise->failure()));
  if (failure && is_planned(task.op)) return run_steps(task);
  Values in = task.numbers, out;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (task.in[i]) in[i] = task.in[i]->value();
  for (const Ref<Promise>& promise : task.out) out.emplace_back(make_ref<Node>(promise->desc(), Device(inner_)));
  if (!failure) {
    const CalledAs named(task.function);
    failure = attempt([&] { inner_->run(task.op, {in, out}); });
    // In a scope, an earlier error of the same thread counts as the cause of this one.
    const Ref<Failure> earlier = failure && task.guarded ? unreported_.errors_of(task.requester) : nullptr;
    if (earlier) failure = earlier;
    else unreported_.note(failure, task.requester);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (failure) task.out[i]->fail_with(failure);
    else task.out[i]->keep(std::move(out[i]));
  }
}

/// Results of a planned op that do not depend on the failed operand can still be computed.
void Queued::run_steps(const Task& task) {
  const Device here{Ref<Backend>(this)};
  Values in = task.numbers, out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!task.in[i]) continue;
    in[i] = Value(make_ref<Node>(task.in[i]->desc(), here));
    in[i].node()->storage = task.in[i];
  }
  for (const Ref<Promise>& promise : task.out) out.emplace_back(make_ref<Node>(promise->desc(), here));
  const Values results = expansion(task.op, in, out);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Ref<Promise> made = promise_of(results[i]);
    if (Failure* const failure = made->failure()) task.out[i]->fail_with(Ref<Failure>(failure));
    else task.out[i]->keep(made->value());
  }
}

Ref<Node> Queued::upload(TensorData data, const Device& device) {
  auto node = make_ref<Node>(Desc{data.shape(), data.dtype()}, device);
  auto promise = make_ref<Promise>(node->desc);
  promise->keep(Value(inner_->upload(std::move(data), Device(inner_))));
  node->storage = promise;
  return node;
}

Ref<PendingRead> Queued::start_read(Inputs values) {
  auto read = make_ref<LateRead>();
  std::vector<Ref<Promise>> promises;
  for (const Value& value : values) promises.push_back(promise_of(value));
  worker.add([this, read, promises = std::move(promises)] {
    read->arrive([&] {
      Ref<Failure> failure;
      for (const Ref<Promise>& promise : promises) failure = joined(failure, Ref<Failure>(promise->failure()));
      if (failure) throw_failure(*failure);
      std::vector<TensorData> data;
      for (const Ref<Promise>& promise : promises) data.push_back(inner_->download(promise->value()));
      return data;
    });
  });
  return read;
}

void Queued::sync() {
  worker.drain();
  unreported_.throw_all();
}

FusionTraits Queued::fusion_traits() const {
  FusionTraits traits = inner_->fusion_traits();
  traits.first_ops = 4;
  return traits;
}

}  // namespace kiln::test
