// Where operations run, and when.
#include "kiln/backend/router/router.hpp"

#include <algorithm>

#include "kiln/backend/router/routing.hpp"
#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/read.hpp"
#include "kiln/ops/record.hpp"
#include "kiln/ops/scope/beside.hpp"
#include "kiln/ops/scope/fails_with.hpp"

namespace kiln {
namespace {

using Stage = Routed::Stage;

/// A program that asks for no data for a long time waits here, before memory is full of what waits.
constexpr std::uint64_t kMostTasks = 10'000;

Device::Place place_of(const Value& value) { return value.node()->device.place(); }

/// Whether the program asked for the place of the results, by the device that it gave; that of an operand is not meant.
bool is_asked(const Call& call) {
  return !call.out.empty() && place_of(call.out[0]).chosen && std::ranges::none_of(call.in, [&](const Value& value) {
    return value.node() && place_of(value) == place_of(call.out[0]);
  });
}
/// Returns the part on which the program creates a tensor; -1: any, or the call creates none.
int place_to_create(const Call& call) {
  return call.out.empty() || std::ranges::any_of(call.in, is_tensor) ? -1 : place_of(call.out[0]).part;
}

/// Whether what is computed from a value is to be where the value is.
bool stays(const Value& value) {
  return place_of(value).chosen || static_cast<const Routed&>(*value.node()->storage).stays ||
         (value.tracked() && value.tape()->is_leaf());
}
bool all_stay(Inputs in) {
  return std::ranges::any_of(in, is_tensor) &&
         std::ranges::all_of(in, [&](const Value& value) { return !is_tensor(value) || stays(value); });
}

}  // namespace

/// Returns the part on which all operands are that are on any, or for which a tensor is created; -1 if there are several, or
/// another belongs to what is computed.
int Router::part_of_all(const Call& call) const {
  int part = place_to_create(call);
  for (const Value& value : call.in) {
    if (!value.node()) continue;
    const Routed& x = routed(value);
    if (x.stage == Stage::Host || x.part == part) continue;
    if (part >= 0) return -1;
    part = x.part;
  }
  part = std::max(part, 0);
  // A gradient is computed where the operation ran, even if all that it is computed from is elsewhere.
  const int near = Beside::innermost().part;
  return near < 0 || near == part ? part : -1;
}

/// Asks the policy where an operation runs.
int Router::choose(const op::Op& op, const Call& call) {
  RouteRequest request{.op = op::function_name(op), .operands = {}, .allowed = 0, .near = place_to_create(call)};
  if (request.near < 0) request.near = Beside::innermost().part;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (is_composite(op) || parts_[i].backend().has_kernel(op)) request.allowed |= std::uint32_t{1} << i;
  std::vector<RouteOperand> operands;
  for (const Value& value : call.in) {
    if (!value.node()) continue;
    const Lock lock(mutex_);
    const Routed& x = routed(value);
    const bool on_host = x.stage == Stage::Host;
    std::uint32_t places = on_host ? ~std::uint32_t{0} : std::uint32_t{1} << x.part;
    for (const Routed::Copy& copy : x.copies) places |= std::uint32_t{1} << copy.part;
    operands.push_back({on_host ? -1 : x.part, places, stays(value),
                        value.numel() * static_cast<std::int64_t>(size_of(value.dtype()))});
  }
  request.operands = operands;
  if (!request.allowed) return 0;  // what composes it says that there is no kernel
  const int part = policy_ ? policy_(request) : route_by_place(request);
  const auto count = static_cast<int>(parts_.size());
  require<ArgumentError>(0 <= part && part < count, name(), ": the policy sends ", request.op, " to part ", part,
                         "; the parts are 0 to ", count - 1);
  require<DeviceError>(request.allowed >> part & 1, name(), ": the policy sends ", request.op, " to ", device(part),
                       ", which has no kernel for it; RouteRequest::allowed says which parts have one");
  return part;
}

void Router::run(const op::Op& op, Call call) {
  throw_failed(call.in);
  take_arrivals(false);
  const bool asked = is_asked(call);
  int part = asked ? place_of(call.out[0]).part : policy_ ? -1 : part_of_all(call);
  if (part < 0 || !backend(part).has_kernel(op)) {
    if (!asked) part = choose(op, call);
    if (!backend(part).has_kernel(op)) return run_composed(op, call);
  }
  const bool results_stay = asked || all_stay(call.in);
  for (const Value& value : call.out) {
    Node& node = *value.node();
    node.storage = make_ref<Routed>(part, Value(make_ref<Node>(node.desc, device(part))), results_stay);
    node.device.set_place({.part = static_cast<std::int16_t>(part), .chosen = asked});
  }
  Operands operands;
  if (!are_there(part, call.in, operands)) return run_or_wait(op, part, call);
  start(op, part, operands, call.out);
  if (is_view(op)) remember_view(op, call);
}

/// The part composes the operation of others, each of which runs like any operation of the program.
void Router::run_composed(const op::Op& op, Call call) {
  run_expansion(*this, op, call);
  for (const Value& value : call.out)
    value.node()->device.set_place({.part = static_cast<std::int16_t>(part_of(value)), .chosen = false});
}

/// Starts an operation whose operands have to move, or keeps it until they have.
void Router::run_or_wait(const op::Op& op, int part, const Call& call) {
  {
    const Lock lock(mutex_);
    const Operands operands = bring(part, call.in, op);
    if (!operands.wait) return start(op, part, operands, call.out);
    Task task{++tasks_begun_, op, part, {}, {}, {}, Requester::current(), CalledAs::function()};
    for (const Value& value : call.in) task.in.push_back(kept(value));
    for (const Value& value : call.out) task.out.push_back(kept(value));
    for (const FailsWith* scope = FailsWith::innermost(); scope; scope = scope->outer())
      for (const Value& cause : scope->causes()) task.causes.push_back(kept(cause));
    tasks_.push_back(std::make_shared<Task>(std::move(task)));
  }
  if (tasks_begun_ > kMostTasks) await_tasks(tasks_begun_ - kMostTasks);
}

/// Returns a value for the router to keep. It is one of a part by its node, whose device would otherwise own this router: a
/// router that owns itself never ends.
Value Router::kept(const Value& value) const {
  if (!value.node() || !is_routed(value.node()->storage.get())) return value.node() ? value.detach() : value;
  Value kept(make_ref<Node>(value.node()->desc, parts_[0]));
  kept.node()->storage = value.node()->storage;
  return kept;
}

/// A view of a value that is on other parts too is made there again, where one asks for it, and does not move.
void Router::remember_view(const op::Op& op, Call call) {
  if (call.out.size() != 1 || std::ranges::count_if(call.in, is_tensor) != 1) return;
  const Lock lock(mutex_);
  if (routed(*std::ranges::find_if(call.in, is_tensor)).copies.empty()) return;
  Values in;
  for (const Value& value : call.in) in.push_back(kept(value));
  routed(call.out[0]).view = std::make_unique<Routed::View>(Routed::View{op, std::move(in)});
}

/// Runs an operation in the scopes of this thread, or says why it cannot be computed.
void Router::start(const op::Op& op, int part, const Operands& operands, std::span<const Value> out) {
  SpareVector<Value> there;
  there.reserve(out.size());
  for (const Value& value : out) there.push_back(routed(value).value);
  Ref<Failure> lost = operands.lost;
  const Beside anywhere(Device::Place{});  // the part may be a router, which has other parts
  if (const FailsWith* const scope = FailsWith::innermost(); !lost && scope) {
    const Values causes = causes_at(part, lost);
    const FailsWith here(causes, *scope);
    if (!lost) backend(part).run(op, {operands.values, there});
  } else if (!lost) {
    backend(part).run(op, {operands.values, there});
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    Routed& x = routed(out[i]);
    if (lost) {
      x.lose(lost);
    } else {
      x.value = std::move(there[i]);  // a kernel of the user's may have put another value in its place
      x.stage = Stage::There;
    }
  }
}

/// Returns the causes of this thread's FailsWith as the part knows them. Those of other parts start, so that errors are known,
/// and `lost` says which.
Values Router::causes_at(int part, Ref<Failure>& lost) {
  Values here;
  for (const FailsWith* scope = FailsWith::innermost(); scope; scope = scope->outer())
    for (const Value& cause : scope->causes()) {
      if (!cause.node() || !is_routed(cause.node()->storage.get())) continue;
      Routed& x = routed(cause);
      if (x.stage == Stage::Host || x.stage == Stage::Waiting) continue;
      // It may be another router's, whose parts are others.
      if (x.stage == Stage::There && x.value.node()->device == device(part)) {
        here.push_back(x.value);
        continue;
      }
      if (x.state() == State::Waiting)
        if (const Ref<Failure> failure = attempt([&] { kiln::run_pending({&x.value, 1}); }))
          (void)noted(failure, x.value);
      lost = joined(lost, Ref<Failure>(x.failure()));
    }
  return here;
}

void Router::run_task(Task& task, const Operands& operands) {
  const CalledAs nobody(nullptr);
  const CalledAs named(task.function);
  const FailsWith scope(task.causes, FailsWith::ReplaceOuter());
  const Ref<Failure> error = attempt([&] { start(task.op, task.part, operands, task.out); });
  if (!error) return;
  (void)noted(error, Value());
  for (const Value& value : task.out) routed(value).lose(error);
}

/// Runs what waited for moves that have ended. `wait`: waits for the first move; other threads go on, and one of them may
/// take it.
void Router::take_arrivals(bool wait) {
  if (!on_their_way_) return;
  if (wait) {
    Ref<Moving> first;
    if (const Lock lock(mutex_); !arrivals_.empty()) first = arrivals_[0];
    if (first) first->finish();
  }
  const Lock lock(mutex_);
  const auto is_there = [](const Ref<Moving>& each) { return each->ended_by_now(); };
  if (std::erase_if(arrivals_, is_there) == 0) return;
  on_their_way_ = arrivals_.size();
  run_tasks();
}

/// Runs the tasks that have their operands. One that does not stays in the list meanwhile, where a kernel of the user's that
/// needs its result finds it.
void Router::run_tasks() {
  std::uint64_t seen = 0;
  do {
    seen = ++looked_;  // a kernel of the user's may come here again, and take what these tasks wait for
    for (auto each = tasks_.begin(); each != tasks_.end();) {
      const std::shared_ptr<Task> task = *each;
      const RequestedBy whose(task->requester);
      Operands operands;
      // An error is the task's: the thread that looks at the tasks may be another, and more of them wait behind this one.
      const Ref<Failure> error = attempt([&] { operands = bring(task->part, task->in, task->op); });
      if (looked_ != seen) break;
      if (error) operands.lost = noted(error, Value());
      if (operands.wait) {
        ++each;
        continue;
      }
      each = tasks_.erase(each);
      run_task(*task, operands);
      if (looked_ != seen) break;
    }
  } while (looked_ != seen);
}

/// Waits for moves until that is so.
void Router::await(FunctionRef<bool()> is_so) {
  for (;; take_arrivals(true)) {
    const Lock lock(mutex_);
    if (is_so()) return;
    if (arrivals_.empty()) run_tasks();  // a kernel of the user's waits, and runs before them
    if (is_so()) return;
    require<DeviceError>(
        !arrivals_.empty(), name(),
        ": a kernel of the program's waits for a value that is only computed after it: let it read its "
        "operands alone");
  }
}

void Router::await_tasks(std::uint64_t count) {
  await([&] { return tasks_.empty() || tasks_.front()->number > count; });
}

}  // namespace kiln
