#include "kiln/ops/record.hpp"

#include <algorithm>
#include <atomic>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace {

constexpr int kDescribed = -1;  // the slot of an operand of which only the description is kept

std::uint64_t next_order() {
  static std::atomic<std::uint64_t> order{0};
  return ++order;
}

Saves saves_of(const op::Op& op, Inputs in) {
  std::uint32_t tracked = 0;
  for (std::size_t i = 0; i < in.size() && i < 32; ++i) tracked |= std::uint32_t{in[i].tracked()} << i;
  return op::visit(op, [&]<class T>(const T& o) -> Saves {
    if constexpr (requires { o.saves(tracked); }) return o.saves(tracked);
    else return {};
  });
}

// ---- Checkpointing::Balanced ---------------------------------------------------------------------------------------

std::int64_t bytes_of(const Desc& desc) { return numel(desc.shape) * static_cast<std::int64_t>(size_of(desc.dtype)); }

/// Whether the op is cheap to run again, and cannot fail.
bool is_worth_running_again(const op::Op& op) {
  return op::visit(
      op, []<class T>(const T&) { return T::kTraits.bound == Bound::Memory && T::kTraits.may_fail == MayFail::Never; });
}

/// Whether the tape may leave the value out, to recompute it when needed.
bool is_rematerialisable(const Value& value) { return value.tracked() && value.tape()->rematerialisation.possible; }

Rematerialisation rematerialisation_of(const op::Op& op, Inputs in, const Saves& saves, const Descs& results) {
  constexpr int kLongestChain = 16;  // runs nested in each other, whose results are in memory at once
  Rematerialisation rematerialisation;
  if (in.size() > 32 || !is_worth_running_again(op)) return rematerialisation;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Value& value = in[i];
    if (value.empty() || value.is_scalar()) continue;
    if (is_rematerialisable(value)) {
      rematerialisation.depth = std::max(rematerialisation.depth, value.tape()->rematerialisation.depth + 1);
      rematerialisation.held += value.tape()->rematerialisation.held;
    } else if (!(saves.in >> i & 1u) && !(value.tracked() && value.tape()->is_leaf())) {
      rematerialisation.held += bytes_of(value.node()->desc);
    }
  }
  std::int64_t own = 0;
  for (const Desc& desc : results) own += bytes_of(desc);
  // During recomputation both are in memory, so the difference has to be clear.
  rematerialisation.possible = 2 * rematerialisation.held < own && rematerialisation.depth < kLongestChain;
  return rematerialisation;
}

}  // namespace

void retain(const Record* record) { record->add_owner(); }

// Destroying a record may destroy the records before it, and so on along the chain: records without owners are queued
// rather than destroyed recursively, so that no graph is too deep for the stack.
void release(const Record* record) {
  if (!record->drop_owner()) return;
  // The `order` of a record without owners is not needed any more, so it links to the next record in the queue: there
  // may be no memory for a list.
  thread_local const Record* next = nullptr;
  thread_local bool running = false;
  const_cast<Record*>(record)->order = reinterpret_cast<std::uintptr_t>(next);
  next = record;
  if (running) return;
  running = true;
  while (next) {
    const Record* const last = next;
    next = reinterpret_cast<const Record*>(static_cast<std::uintptr_t>(last->order));
    delete last;
  }
  running = false;
}

Ref<Record> make_leaf(const Desc& desc, const Device& device) {
  auto record = make_ref<Record>();
  record->results.push_back(desc);
  record->device = device;
  record->order = next_order();
  return record;
}

Ref<Record> make_record(Ref<Recompute> recompute, const Descs& results, const Device& device) {
  auto record = make_ref<Record>();
  record->recompute = std::move(recompute);
  record->results.assign(results.begin(), results.end());
  record->device = device;
  record->order = next_order();
  return record;
}

Ref<Record> make_record(const op::Op& op, Inputs in, const Descs& results, Inputs out, const Device& device) {
  const Saves saves = saves_of(op, in);
  auto record = make_ref<Record>();
  Rematerialisation& rematerialisation = record->rematerialisation;
  if (checkpointing() == Checkpointing::Balanced) rematerialisation = rematerialisation_of(op, in, saves, results);
  record->in.reserve(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Value& value = in[i];
    const bool number = value.empty() || value.is_scalar(), saved = i >= 32 || (saves.in >> i & 1u);
    const bool rematerialisable = !number && i < 32 && is_rematerialisable(value);
    if (saved && rematerialisable) rematerialisation.missing |= 1u << i;
    if (number || ((saved || rematerialisation.possible) && !rematerialisable)) record->in.push_back(value);
    else if (value.tracked()) record->in.emplace_back(Ref<Node>(), value.tape(), value.slot());
    else record->in.emplace_back(make_ref<Node>(value.node()->desc, value.node()->device), Ref<Record>(), kDescribed);
  }
  rematerialisation.missing_out = saves.out && rematerialisation.possible;
  if (saves.out && !rematerialisation.possible) record->out.assign(out.begin(), out.end());
  record->op.emplace(op);
  record->precision = Float32Precision::said();
  record->results.assign(results.begin(), results.end());
  record->device = device;
  record->order = next_order();
  return record;
}

const Desc& Record::in_desc(std::size_t i) const {
  static const Desc none;
  const Value& value = in[i];
  if (value.node()) return value.node()->desc;
  return value.tracked() ? value.tape()->results[static_cast<std::size_t>(value.slot())] : none;
}

Backward::Backward(const Ref<Record>& record, SpareValues grads, Values in, Values out)
    : record_(record), grads_(std::move(grads)), into_(record->in.size()), in_(std::move(in)), out_(std::move(out)) {}

const Value& Backward::in(int i) const {
  const Value& value = in_if_any(i);
  KILN_CHECK(!value.empty());  // the op's saves() must name what its vjp reads
  return value;
}

const Value& Backward::in_if_any(int i) const {
  static const Value none;
  const Value& value = (in_.empty() ? Inputs(record_->in) : Inputs(in_))[static_cast<std::size_t>(i)];
  return value.slot() == kDescribed ? none : value;
}

const Desc& Backward::in_desc(int i) const { return record_->in_desc(static_cast<std::size_t>(i)); }
const Desc& Backward::out_desc(int slot) const { return record_->results[static_cast<std::size_t>(slot)]; }
const Device& Backward::device() const { return record_->device; }

Value Backward::out(int slot) const {
  const Values& results = out_.empty() ? record_->out : out_;
  KILN_CHECK(static_cast<std::size_t>(slot) < results.size());
  const Value& saved = results[static_cast<std::size_t>(slot)];
  return is_float(out_desc(slot).dtype) ? Value(saved.node(), record_, slot) : saved;
}

const Value& Backward::grad(int slot) {
  Value& grad = grads_[static_cast<std::size_t>(slot)];
  if (grad.empty()) grad = zeros(out_desc(slot).shape, record_->device, out_desc(slot).dtype);
  return grad;
}

bool Backward::made_by(int i, std::string_view op) const {
  const Record* maker = record_->in[static_cast<std::size_t>(i)].tape().get();
  while (maker && maker->op && op::name(*maker->op) == op::Cast::kName) maker = maker->in[0].tape().get();
  return maker && maker->op && op::name(*maker->op) == op;
}

DerivativeOnTape slope_on_tape = nullptr;

Value Backward::in_place_of(int i, const Value& contents) const {
  const Value& place = record_->in[static_cast<std::size_t>(i)];
  return Value(contents.node(), place.tape(), place.tracked() ? place.slot() : 0);
}

Value Backward::slope(const Value& x, const Value& along, int slot) const {
  const Desc& desc = out_desc(slot);
  if (!x.tracked() || !slope_on_tape) return zeros(desc.shape, record_->device, desc.dtype);
  return slope_on_tape(x, along, record_, slot);
}

void Backward::mark_partial() const { record_->partial.store(true, std::memory_order_relaxed); }
bool Backward::is_partial() const { return record_->partial.load(std::memory_order_relaxed); }

bool Backward::wants(int i) const { return i < arity() && record_->in[static_cast<std::size_t>(i)].tracked(); }

}  // namespace kiln
