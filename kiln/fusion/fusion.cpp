#include "kiln/fusion/fusion.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/fusion/partial_step.hpp"
#include "kiln/ops/device.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/scope/fails_with.hpp"

namespace kiln::fusion {
namespace {

bool logs_plans() {
  static const bool wanted = is_logged("fusion");
  return wanted;
}

/// Returns a bit for each operand that has no owner but the list, for Call::last_uses.
std::uint64_t last_uses(Inputs in) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < in.size() && i < 64; ++i)
    if (in[i].node() && in[i].node()->has_one_owner()) bits |= std::uint64_t{1} << i;
  return bits;
}

// The Fusion whose plan this thread is running, or null. Calls that a kernel makes meanwhile (a user's kernel may call
// tensor functions) run at once.
thread_local const Fusion* running = nullptr;

}  // namespace

/// The calls that one thread has recorded. Another thread takes the lock when it needs one of their values.
struct Fusion::Stream final : RefCounted {
  Mutex mutex;
  Segment segment;
  std::size_t run_at;        // the number of operations at which the segment runs although nothing is read
  Ref<Requester> requester;  // the thread that records
  Values in, out;            // operands and results of the running step; members, so that their memory is reused
  // While the segment runs: values that are computed but not delivered, so they may still fail; and those that failed.
  std::vector<std::uint32_t> undelivered;
  std::vector<Ref<Failure>> failures;                       // indexed by value; empty while nothing has failed
  std::vector<Ref<Failure>> new_failures;                   // failures of the segment's own steps
  std::vector<std::pair<std::uint32_t, Ref<Node>>> causes;  // on a late device: released values that guards check

  void fail_value(std::uint32_t value, const Ref<Failure>& failure) {
    failures.resize(segment.values().size());
    if (!failures[value]) failures[value] = failure;
  }
  void propagate_failures();
  void release(std::uint32_t value, bool late);
  Ref<Failure> failure_of_scope(std::uint32_t entry) const;
  Values causes_of(std::uint32_t entry) const;
};

/// Returns the failure that an entry's scope is known to have, or null.
Ref<Failure> Fusion::Stream::failure_of_scope(std::uint32_t entry) const {
  const Segment::Guard* const guard = segment.guard_of(entry);
  if (!guard || guard->failure) return guard ? guard->failure : nullptr;
  Ref<Failure> failure = failure_among(guard->others);
  for (const Reference cause : guard->causes)
    if (cause.index() < failures.size()) failure = joined(failure, failures[cause.index()]);
  return failure;
}

void Fusion::Stream::release(std::uint32_t value, bool late) {
  Ref<Node> node = std::exchange(segment.values()[value], nullptr);
  if (late && segment.is_cause(value)) causes.emplace_back(value, std::move(node));
}

/// Returns the values that a late device has to check besides an entry's operands.
Values Fusion::Stream::causes_of(std::uint32_t entry) const {
  const Segment::Guard* const guard = segment.guard_of(entry);
  if (!guard) return {};
  Values all = guard->others;
  for (const Reference cause : guard->causes) {
    const auto released = std::ranges::find(causes, cause.index(), &decltype(causes)::value_type::first);
    const Ref<Node>& node = released != causes.end() ? released->second : segment.values()[cause.index()];
    if (!node) continue;
    // The stand-in is not marked as waiting: the backend that runs the step may collect calls as well.
    const auto stand_in = make_ref<Node>(node->desc, node->device);
    stand_in->storage = node->storage;
    all.emplace_back(stand_in);
  }
  return all;
}

/// Marks as failed each value that the program computed from a failed one, by the calls as they were recorded. The plan
/// may have computed it by another path: it uses numbers in place of tensors that are filled with them, and drops
/// results that nothing reads. If that path failed as well, this is not a second error.
void Fusion::Stream::propagate_failures() {
  failures.resize(segment.values().size());
  const auto all_lost = [&](auto&& values) {
    Ref<Failure> failure;
    for (const Reference value : values)
      if (value.is_value()) failure = joined(failure, failures[value.index()]);
    return failure;
  };
  auto guard = segment.guards().begin();
  for (std::uint32_t i = 0; i < segment.size(); ++i) {
    const RecordedCall& entry = segment.entries()[i];
    while (guard != segment.guards().end() && guard->end <= i) ++guard;
    Ref<Failure> failure = all_lost(segment.operands(entry));
    const bool is_made_of_it = bool(failure);
    if (!failure && guard != segment.guards().end() && guard->begin <= i)
      failure = guard->failure ? guard->failure : all_lost(guard->causes);
    if (!failure) continue;
    for (const Reference result : segment.results(entry)) {
      const std::uint32_t index = result.index();
      Node* const node = segment.visible(index) ? segment.values()[index].get() : nullptr;
      if (node && !waits(*node)) continue;  // it is delivered; other threads may read it
      // An out-of-memory error tells which operations ran together, so it is kept, with `failure` among its causes.
      const bool says_more = is_made_of_it && failures[index] && is_of_memory(*failures[index]);
      failures[index] = says_more ? with_cause(failures[index], failure) : failure;
      if (node) node->storage = failures[index];
    }
  }
}

Fusion::Fusion(Ref<Backend> inner) : Decorator(std::move(inner)), traits_(inner_->fusion_traits()), plans_(traits_) {}
Fusion::~Fusion() = default;

Fusion::Stream& Fusion::own_stream() {
  struct Own {
    std::uint64_t fusion = 0;
    Ref<Stream> stream;
  };
  // A thread that ends releases its streams; Fusion keeps a stream while calls wait in it.
  thread_local std::vector<Own> all;
  for (const Own& own : all)
    if (own.fusion == id()) return *own.stream;
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const Ref<Stream>& each) { return each->has_one_owner() && each->segment.empty(); });
  std::erase_if(all, [](const Own& own) { return own.stream->has_one_owner(); });  // of a Fusion that no longer exists
  streams_.push_back(make_ref<Stream>());
  streams_.back()->run_at = first_ops();
  streams_.back()->requester = Requester::current();
  all.push_back({id(), streams_.back()});
  return *streams_.back();
}

std::vector<Ref<Fusion::Stream>> Fusion::streams() const {
  const std::lock_guard lock(mutex_);
  return streams_;
}

void Fusion::run(const op::Op& op, Call call) {
  if (running == this) {
    for (const Value& value : call.in) {
      wait_for(value);
      throw_if_failed(value);
    }
    return run_or_expand(*inner_, op, call);
  }
  Stream& stream = own_stream();
  Segment& segment = stream.segment;
  const FailsWith* const scope = FailsWith::innermost();
  const auto find_foreign = [&] {
    const Value* foreign = segment.find_foreign(call.in);
    for (const FailsWith* each = scope; each && !foreign; each = each->outer())
      foreign = segment.find_foreign(each->causes());
    return foreign;
  };
  while (const Value* foreign = find_foreign()) wait_for(*foreign);
  const std::lock_guard lock(stream.mutex);
  segment.append(op, call);
  if (scope) segment.guard(*scope, is_asynchronous());
  if (segment.size() < stream.run_at && segment.bytes() < traits_.max_bytes) return;
  run_segment(stream);
  stream.run_at = std::min(2 * stream.run_at, traits_.max_ops);
}

/// Runs the segment in which a value waits; it may be another thread's.
void Fusion::wait_for(const Value& value) {
  while (const std::uint64_t epoch = pending_in(value)) {
    for (const Ref<Stream>& stream : streams()) {
      if (stream->segment.epoch() != epoch) continue;
      const std::lock_guard lock(stream->mutex);
      if (stream->segment.epoch() == epoch) run_segment(*stream);
    }
  }
}

/// Called when a value is read or awaited: the segment runs early again, to give the device work.
void Fusion::restart_ramp() {
  if (!traits_.first_ops || running == this) return;
  Stream& stream = own_stream();
  const std::lock_guard lock(stream.mutex);
  stream.run_at = traits_.first_ops;
}

TensorData Fusion::download(const Value& value) {
  restart_ramp();
  wait_for(value);
  throw_if_failed(value);
  return inner_->download(value);
}

Ref<PendingRead> Fusion::start_read(Inputs values) {
  restart_ramp();
  for (const Value& value : values) wait_for(value);
  if (Ref<Failure> failure = failure_among(values)) return failed_read(std::move(failure));
  return inner_->start_read(values);
}

void Fusion::run_pending(Inputs values) {
  restart_ramp();
  for (const Value& value : values) wait_for(value);
  if (const Ref<Failure> failure = failure_among(values)) throw_failure(*failure);
  inner_->run_pending(values);
}

Backend::State Fusion::state(const Value& value) const {
  if (pending_in(value)) return State::Waiting;
  return failure_of(value.node()) ? State::Failed : inner_->state(value);
}

void Fusion::flush() {
  if (running == this) return;
  restart_ramp();
  Stream& stream = own_stream();
  const std::lock_guard lock(stream.mutex);
  run_segment(stream);
}

void Fusion::sync() {
  restart_ramp();
  if (running != this) {
    for (const Ref<Stream>& stream : streams()) {
      const std::lock_guard lock(stream->mutex);
      run_segment(*stream);
    }
  }
  unreported_.note(attempt([&] { inner_->sync(); }), Requester::current());
  unreported_.throw_all();
}

Fusion::Statistics Fusion::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void Fusion::run_segment(Stream& stream) {
  Segment& segment = stream.segment;
  if (segment.empty()) return;
  const Fusion* const before = std::exchange(running, this);
  const RequestedBy whose(stream.requester);
  if (const Ref<Failure> failure = attempt([&] { run_plan(stream); })) {
    stream.new_failures.push_back(failure);  // planning ran out of memory
    for (std::uint32_t i = 0; i < segment.values().size(); ++i)
      if (const Ref<Node>& node = segment.values()[i]; node && !node->storage) {
        stream.fail_value(i, failure);
        stream.undelivered.push_back(i);
      }
  }
  publish(stream);
  report_failures(stream);
  segment.clear();
  stream.failures.clear();
  stream.causes.clear();
  inner_->flush();
  running = before;
}

void Fusion::run_plan(Stream& stream) {
  Segment& segment = stream.segment;
  segment.close();
  const CalledAs nobody(nullptr);
  const auto [plan, fresh] = plans_.find_or_make(segment);
  {
    const std::lock_guard lock(mutex_);
    ++statistics_.segments;
    statistics_.recorded += static_cast<std::int64_t>(segment.size());
    statistics_.planned += fresh;
  }
  if (fresh && logs_plans())
    std::fprintf(stderr, "fusion: %zu operations become %zu:\n%s", segment.size(), plan->steps.size(),
                 describe(*plan, segment).c_str());
  for (const ConstantFold& constant_fold : plan->constant_folds)
    segment.add_number(constant_fold.of(segment.numbers()));
  for (std::uint32_t i = 0; i < segment.values().size(); ++i)
    if (const Ref<Failure> failure = failure_of(segment.values()[i])) stream.fail_value(i, failure);
  if (std::ranges::any_of(segment.guards(), [](const Segment::Guard& guard) { return bool(guard.failure); }))
    stream.failures.resize(segment.values().size());
  for (const PlanStep& step : plan->steps) {
    if (std::holds_alternative<op::Custom>(step.op.is)) publish(stream);  // its kernel may read any tensor
    run_step(stream, step);
  }
}

void Fusion::run_step(Stream& stream, const PlanStep& step) {
  Segment& segment = stream.segment;
  std::vector<Ref<Node>>& values = segment.values();
  Values &in = stream.in, &out = stream.out;
  in.clear();
  out.clear();
  for (const Reference operand : step.in) {
    if (operand.is_value()) {
      in.emplace_back(values[operand.index()]);
    } else {
      in.push_back(operand.is_number() ? Value(segment.numbers()[operand.index()]) : Value());
    }
  }
  Ref<Failure> failure = failure_among(in);
  if (failure)
    for (std::size_t i = 0; i < in.size(); ++i)
      if (const Ref<Failure> own = failure_of(in[i].node())) stream.fail_value(step.in[i].index(), own);
  for (const std::uint32_t result : step.out) out.emplace_back(values[result]);
  stream.undelivered.insert(stream.undelivered.end(), step.out.begin(), step.out.end());
  for (const std::uint32_t value : step.release) stream.release(value, is_asynchronous());
  Ref<Failure> error;
  // A late device finds errors later, so it asks now for the called function and for the causes of its scope.
  const bool fails = may_fail(step.op);
  const CalledAs named(fails ? segment.function_of(step.last_entry) : nullptr);
  const CalledFrom there(fails ? segment.calls_of(step.last_entry) : nullptr);
  if (fails && !failure) failure = stream.failure_of_scope(step.last_entry);
  const Values causes = fails && is_asynchronous() ? stream.causes_of(step.last_entry) : Values();
  const FailsWith scope(causes, FailsWith::ReplaceOuter());
  if (!failure)
    error = attempt([&] { run_or_expand(*inner_, step.op, {in, out, last_uses(in)}); },
                    [&](std::string_view sentence) { return segment.with_call_site(step.last_entry, sentence); });
  if (is_divisible(step) && (failure || (error && is_of_memory(*error)))) {
    run_each_result(stream, step, error);
  } else if (failure || error) {
    if (error) {
      failure = error;
      stream.new_failures.push_back(error);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].node()->storage = failure;
      stream.fail_value(step.out[i], failure);
    }
  }
  in.clear();
  out.clear();
}

/// Computes what it can of a step that failed: results that depend on no failed operand and for which there is memory.
void Fusion::run_each_result(Stream& stream, const PlanStep& step, const Ref<Failure>& error) {
  std::vector<Ref<Node>>& values = stream.segment.values();
  const Values in = std::move(stream.in), out = std::move(stream.out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Ref<Node>& node = in[i].node();
    if (!node) continue;
    values[step.in[i].index()] = node;
    // The kernel may have begun to write a result over an operand whose last use this was.
    if (std::ranges::any_of(out, [&](const Value& result) { return result.node()->storage == node->storage; })) {
      stream.new_failures.push_back(error);
      node->storage = error;
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].node()->storage = nullptr;
    values[step.out[i]] = out[i].node();
  }
  for (std::size_t i = 0; i < out.size(); ++i) run_step(stream, with_results(step, i));
  for (const std::uint32_t value : step.release) stream.release(value, is_asynchronous());
}

/// Notes new failures for sync(), which throws those that nothing else has reported. A failure through which no value
/// was lost is not an error of the program: those values would have failed anyway.
void Fusion::report_failures(Stream& stream) {
  for (const Ref<Failure>& failure : std::exchange(stream.new_failures, {})) {
    const bool counts = std::ranges::any_of(stream.failures, [&](const Ref<Failure>& failed) {
      return failed && (failed == failure || std::ranges::find(failed->causes, failure) != failed->causes.end());
    });
    if (counts) unreported_.note(failure, stream.requester);
  }
}

/// Lets other threads see the values that have been computed since the last call.
void Fusion::publish(Stream& stream) {
  if (!stream.failures.empty()) stream.propagate_failures();
  for (const std::uint32_t value : stream.undelivered)
    if (const Ref<Node>& node = stream.segment.values()[value]) mark_computed(*node);
  stream.undelivered.clear();
}

}  // namespace kiln::fusion
