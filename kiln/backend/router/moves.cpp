// How values get from one part of a router to another.
#include <algorithm>
#include <cstdio>

#include "kiln/backend/router/routing.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/ops/scope/fails_with.hpp"

namespace kiln {
namespace {

using Stage = Routed::Stage;

bool logs_moves() {
  static const bool wanted = is_logged("router");
  return wanted;
}

}  // namespace

/// Returns whether all operands are on the part, and puts them into `operands` then. That needs no lock.
bool Router::are_there(int part, Inputs in, Operands& operands) {
  operands.values.reserve(in.size());
  for (const Value& value : in) {
    const Routed* const x = value.node() ? &routed(value) : nullptr;
    if (x && (x->stage != Stage::There || x->part != part)) return false;
    operands.values.push_back(x ? x->value : value);
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
  Ref<Failure> lost = x.lost;
  if (x.stage == Stage::Host)
    if ((lost = attempt([&] { put(x, part); }))) lost = noted(lost, Value());
  Value there = x.value;
  if (x.stage == Stage::Waiting) operands.wait = true;
  if (x.stage == Stage::There && x.part != part) {
    const Ref<Moving> moving = moving_to(x, part, op);
    if (moving && moving->ended()) {
      there = moving->there();
      if ((lost = moving->lost())) {
        lost = noted(lost, x.value);
        std::erase_if(x.copies, [&](const Routed::Copy& copy) { return copy.part == part; });  // to try again
      }
    } else {
      operands.wait = true;
    }
  }
  operands.lost = joined(operands.lost, lost);
  operands.values.push_back(std::move(there));
}

/// Moves data of the host to the part that is the first to use them.
void Router::put(Routed& x, int part) const {
  x.value = start_move(x.host, device(part))->take();
  x.host = {};
  x.part = part;
  x.stage = Stage::There;
}

/// Returns the move of a value to a part, which it begins if there is none yet; null if the value is a view of one that
/// is on its way there.
Ref<Moving> Router::moving_to(Routed& x, int part, const op::Op& op) {
  const auto copy_of = [&](const Routed& y) { return std::ranges::find(y.copies, part, &Routed::Copy::part); };
  if (const auto copy = copy_of(x); copy != x.copies.end()) return copy->moving;
  Ref<Moving> moving;
  if (x.view && backend(part).has_kernel(x.view->op)) {
    const Routed& viewed = routed(*std::ranges::find_if(x.view->in, is_tensor));
    if (copy_of(viewed) != viewed.copies.end()) {
      const Operands in = bring(part, x.view->in, x.view->op);
      if (in.wait) return nullptr;
      moving = made_view(x, part, in);
    }
  }
  if (!moving) moving = begin_move(x, part, op);
  x.copies.push_back({part, moving});
  return moving;
}

/// Makes the value on the part as a view; returns null if that fails.
Ref<Moving> Router::made_view(const Routed& x, int part, const Operands& in) const {
  if (in.lost) return nullptr;
  Value there(make_ref<Node>(x.value.node()->desc, device(part)));
  const FailsWith nothing({}, FailsWith::ReplaceOuter());
  const Ref<Failure> failure = attempt([&] { backend(part).run(x.view->op, {in.values, {&there, 1}}); });
  return failure ? nullptr : make_ref<Moving>(there);
}

Ref<Moving> Router::begin_move(const Routed& x, int part, const op::Op& op) {
  const std::int64_t bytes = x.value.numel() * static_cast<std::int64_t>(size_of(x.value.dtype()));
  ++moved_;
  moved_bytes_ += bytes;
  if (logs_moves())
    std::fputs(text("router: ", x.value, ", ", text_of_bytes(bytes), ": ", device(x.part), " to ", device(part),
                    ", for ", op::function_name(op), '\n')
                   .c_str(),
               stderr);
  Ref<PendingMove> move;
  if (const Ref<Failure> failure = attempt([&] { move = start_move(x.value, device(part)); }))
    return make_ref<Moving>(failure);
  const auto moving = make_ref<Moving>(std::move(move));
  if (moving->ended_by_now()) return moving;
  arrivals_.push_back(moving);
  on_their_way_ = arrivals_.size();
  return moving;
}

/// Returns the failure that a value is to have whose `source` could not be moved: the source's own, which is then no second
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
