#include "kiln/ops/record.hpp"

#include <atomic>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace {

thread_local bool recording = true;

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

}  // namespace

void retain(const Record* record) { record->add_owner(); }

// Destroying a record may end the records behind it, and so on for as long as the chain is: the last owners are
// queued rather than nested, so that no graph is too deep for the stack.
void release(const Record* record) {
  if (!record->drop_owner()) return;
  thread_local std::vector<const Record*>* queue = nullptr;
  if (queue) {
    queue->push_back(record);
    return;
  }
  std::vector<const Record*> ending{record};
  queue = &ending;
  while (!ending.empty()) {
    const Record* last = ending.back();
    ending.pop_back();
    delete last;
  }
  queue = nullptr;
}

bool grad_enabled() { return recording; }
NoGrad::NoGrad(bool off) : before_(recording) {
  if (off) recording = false;
}
NoGrad::~NoGrad() { recording = before_; }

Ref<Record> make_leaf(const Desc& desc, const Device& device) {
  auto record = make_ref<Record>();
  record->results.push_back(desc);
  record->device = device;
  record->order = next_order();
  return record;
}

Ref<Record> make_record(op::Op op, Inputs in, const Descs& results, Inputs out, const Device& device) {
  const Saves saves = saves_of(op, in);
  auto record = make_ref<Record>();
  record->in.reserve(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Value& value = in[i];
    const bool keep = value.empty() || value.is_scalar() || i >= 32 || (saves.in >> i & 1u);
    record->in.push_back({value.empty() ? Desc{} : Desc{value.shape(), value.dtype()},
                          keep ? value : Value({}, value.tape(), value.slot())});
  }
  if (saves.out) record->out.assign(out.begin(), out.end());
  record->op = std::move(op);
  record->results = results;
  record->device = device;
  record->order = next_order();
  return record;
}

Backward::Backward(const Ref<Record>& record, Values grads)
    : record_(record), grads_(std::move(grads)), into_(record->in.size()) {}

const Value& Backward::in(int i) const {
  const Value& value = record_->in[static_cast<std::size_t>(i)].value;
  KILN_CHECK(!value.empty());  // the op's saves() must name what its vjp reads
  return value;
}

const Value& Backward::in_if_any(int i) const { return record_->in[static_cast<std::size_t>(i)].value; }

const Desc& Backward::in_desc(int i) const { return record_->in[static_cast<std::size_t>(i)].desc; }
const Desc& Backward::out_desc(int slot) const { return record_->results[slot]; }
const Device& Backward::device() const { return record_->device; }

Value Backward::out(int slot) const {
  KILN_CHECK(static_cast<std::size_t>(slot) < record_->out.size());
  const Value& saved = record_->out[static_cast<std::size_t>(slot)];
  return is_float(out_desc(slot).dtype) ? Value(saved.node(), record_, slot) : saved;
}

Value Backward::grad(int slot) const {
  const Value& grad = grads_[static_cast<std::size_t>(slot)];
  return grad.empty() ? zeros(out_desc(slot).shape, record_->device, out_desc(slot).dtype) : grad;
}

bool Backward::wants(int i) const { return i < arity() && record_->in[static_cast<std::size_t>(i)].value.tracked(); }

}  // namespace kiln
