// How values get from one part of a router to another.
#include <algorithm>
#include <cstdio>

#include "kiln/backend/router/routing.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/ops/scope/fails_with.hpp"

namespace kiln {
namespace {

bool logs_moves() {
  static const bool wanted = is_logged("router");
  return wanted;
}

Routed::Copy* copy_at(Routed& x, int part) {
  const auto found = std::ranges::find(x.copies, part, &Routed::Copy::part);
  return found == x.copies.end() ? nullptr : &*found;
}

}  // namespace

/// Whether all operands are on the part, which needs no lock to find out; `operands` has them then.
bool Router::are_there(int part, Inputs in, Operands& operands) {
  operands.values.reserve(in.size());
  for (const Value& value : in) {
    if (!value.node()) {
      operands.values.push_back(value);
      continue;
    }
    const Routed& x = routed(value);
    if (x.stage != Routed::Stage::There || x.part != part) return false;
    operands.values.push_back(x.value);
  }
  return true;
}

/// Returns the operands as the part has them, and starts the moves of those that it has not.
Router::Operands Router::bring(int part, Inputs in, const op::Op& op) {
  const Lock lock(mutex_);
  Operands operands;
  for (const Value& value : in) {
    if (value.node()) bring(routed(value), part, op, operands);
    else operands.values.push_back(value);
  }
  return operands;
}

void Router::bring(Routed& x, int part, const op::Op& op, Operands& operands) {
  using Stage = Routed::Stage;
  Ref<Failure> lost = x.stage == Stage::Host ? put(x, part) : x.stage == Stage::Lost ? x.lost : nullptr;
  Value value = x.value;
  if (!lost && x.stage == Stage::Waiting) {
    operands.wait = true;
  } else if (!lost && x.part != part) {
    const bool waits = !copy_at(x, part) && x.view && make_view(x, part);
    if (!waits && !copy_at(x, part)) begin_move(x, part, op);
    const Routed::Copy copy = waits ? Routed::Copy{} : *copy_at(x, part);
    operands.wait |= waits || copy.reading;
    value = copy.value;
    lost = copy.lost;
    if (lost) std::erase_if(x.copies, [&](const Routed::Copy& each) { return each.part == part; });  // to try again
  }
  operands.lost = joined(operands.lost, lost);
  operands.values.push_back(std::move(value));
}

/// Uploads data from the host, and returns why that failed.
Ref<Failure> Router::put(Routed& x, int part) {
  const Device& there = parts_[static_cast<std::size_t>(part)];
  Ref<Failure> failure = attempt([&] { x.value = Value(there.backend().upload(*x.host, there)); });
  if (failure) return noted(failure, Value());
  x.part = part;
  x.host.reset();
  x.stage = Routed::Stage::There;
  return nullptr;
}

/// Makes a view on a part that has the value of which it is a view, if it can. Returns whether that is on its way.
bool Router::make_view(Routed& x, int part) {
  const Routed::View& view = *x.view;
  Routed& viewed = routed(*std::ranges::find_if(view.in, [](const Value& value) { return bool(value.node()); }));
  if (!copy_at(viewed, part) || !backend(part).has_kernel(view.op)) return false;
  const Operands in = bring(part, view.in, view.op);
  if (in.wait || in.lost) return in.wait;
  Value there(make_ref<Node>(x.value.node()->desc, parts_[static_cast<std::size_t>(part)]));
  const FailsWith nothing({}, FailsWith::ReplaceOuter());
  if (!attempt([&] { backend(part).run(view.op, {in.values, {&there, 1}}); }))
    x.copies.push_back({.part = part, .value = there, .reading = {}, .lost = {}});
  return false;
}

void Router::begin_move(Routed& x, int part, const op::Op& op) {
  const Device &from = parts_[static_cast<std::size_t>(x.part)], &to = parts_[static_cast<std::size_t>(part)];
  const std::int64_t bytes = x.value.numel() * static_cast<std::int64_t>(size_of(x.value.dtype()));
  ++moved_;
  moved_bytes_ += bytes;
  if (logs_moves())
    std::fputs(text("router: ", x.value, ", ", text_of_bytes(bytes), ": ", from, " to ", to, ", for ",
                    op::function_name(op), '\n')
                   .c_str(),
               stderr);
  Routed::Copy copy{.part = part, .value = {}, .reading = {}, .lost = {}};
  copy.lost = attempt([&] { copy.reading = make_ref<Routed::Reading>(from.backend().start_read({&x.value, 1})); });
  if (copy.lost) copy.lost = noted(copy.lost, x.value);
  const bool arrived = copy.reading && copy.reading->ready();
  x.copies.push_back(copy);
  if (arrived) return end_move(x, part);
  if (!copy.reading) return;
  arrivals_.push_back({Ref<Routed>(&x), part});
  on_their_way_ = arrivals_.size();
}

/// Uploads the data of a move, which have arrived.
void Router::end_move(Routed& x, int part) {
  const Device& to = parts_[static_cast<std::size_t>(part)];
  const Ref<Routed::Reading> reading = copy_at(x, part)->reading;
  Value there;
  const Ref<Failure> failure = attempt([&] { there = Value(to.backend().upload(reading->take(), to)); });
  Routed::Copy& copy = *copy_at(x, part);
  copy.reading = nullptr;
  copy.value = std::move(there);
  if (failure) copy.lost = noted(failure, x.value);
}

/// The failure that a value is to have whose `source` could not be moved: the source's own, which is then no second
/// error, or else a new one, for sync() to throw.
Ref<Failure> Router::noted(Ref<Failure> failure, const Value& source) {
  if (Ref<Failure> own = failure_of(source.node())) {
    undo_throw(*own);
    return own;
  }
  unreported_.note(failure, Requester::current());
  return failure;
}

}  // namespace kiln
