#include "kiln/ops/emit.hpp"

#include <algorithm>

#include "kiln/ops/expand.hpp"
#include "kiln/ops/precision.hpp"
#include "kiln/ops/record.hpp"
#include "kiln/ops/scope/result_scope.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln {
namespace {

/// The device of the tensor operands: a reference into one of them.
const Device& common_device(const op::Op& op, Inputs in) {
  const Device* device = nullptr;
  for (const Value& value : in) {
    if (!value.node()) continue;
    const Device& other = value.node()->device;
    if (!device) {
      device = &other;
    } else if (*device == other) {
      if (other.is_autodiff()) device = &other;
    } else if (other.backend().accepts(*device)) {
      device = &other;
    } else if (!device->backend().accepts(other)) {
      fail<DeviceError>(function_name(op), ": ", *device, " and ", other, "; move one with to_device()");
    }
  }
  if (!device) fail<ArgumentError>(function_name(op), ": needs a tensor operand, got only plain numbers");
  return *device;
}

void execute(const Device& device, const op::Op& op, Inputs in, const Descs& descs, std::span<Value> out) {
  for (int i = 0; i < descs.size(); ++i) out[static_cast<std::size_t>(i)] = Value(make_ref<Node>(descs[i], device));
  Backend& backend = device.backend();
  if (backend.has_kernel(op)) {
    backend.run(op, {in, out});
  } else {  // the tape still sees the op itself
    const Values results = expansion(op, in, out);
    for (std::size_t i = 0; i < results.size(); ++i) out[i] = results[i].detach();
  }

  bool tracked = false;
  for (const Value& value : in) tracked |= value.tracked();
  if (!tracked) return;
  bool differentiable = false;
  for (const Desc& desc : descs) differentiable |= is_float(desc.dtype);
  if (!differentiable) return;
  if (!grad_enabled()) return note_unrecorded();
  Device where = device;
  where.set_place(out[0].node()->device.place());  // its gradient belongs there
  Ref<Record> record = make_record(op, in, descs, out, where);
  if (descs.size() == 1) return out[0].attach(std::move(record), 0);
  for (int i = 0; i < descs.size(); ++i)
    if (is_float(descs[i].dtype)) out[static_cast<std::size_t>(i)].attach(record, i);
}

/// Returns the operands, cast where the thread's Autocast asks for it; `held` owns the cast ones.
Inputs after_autocast(const op::Op& op, Inputs in, Values& held) {
  return autocast_dtype() == DType::F32 ? in : autocast(op, in, held);
}

/// Returns infer's result, checked to have a countable number of elements: an op may describe a result of any size.
Descs results_of(const op::Op& op, Inputs in) {
  const OperandScope about(in);
  const Descs descs = op::visit(op, [&](const auto& o) { return o.infer(in); });
  for (const Desc& desc : descs) {
    std::int64_t count = 1;
    bool countable = true;
    for (const auto size : desc.shape) countable &= !__builtin_mul_overflow(count, size, &count);
    if (!countable) [[unlikely]]
      require<ShapeError>(std::find(desc.shape.begin(), desc.shape.end(), 0) != desc.shape.end(), function_name(op),
                          ": a result of shape ", desc.shape, " has more than 2^63 - 1 elements");
  }
  return descs;
}

Value run_one(const Device& device, const op::Op& op, Inputs in) {
  const Descs descs = results_of(op, in);
  KILN_CHECK(descs.size() == 1);
  Value out;
  execute(device, op, in, descs, {&out, 1});
  ResultScope::note(in, {&out, 1});
  return out;
}

Values run_all(const Device& device, const op::Op& op, Inputs in) {
  const Descs descs = results_of(op, in);
  Values out(static_cast<std::size_t>(descs.size()));
  execute(device, op, in, descs, out);
  ResultScope::note(in, out);
  return out;
}

/// Calls run(device, op, in) with the operands that Autocast makes, and with the op's precision settled.
template <class Run>
auto prepared(const Device& device, const op::Op& op, Inputs operands, Run run) {
  Values held;
  const Inputs in = after_autocast(op, operands, held);
  if (op::is_unsettled(op, in)) [[unlikely]]
    return run(device, op::settled(op, device), in);
  return run(device, op, in);
}

Value emit_one(const Device& device, const op::Op& op, Inputs operands) {
  return prepared(device, op, operands, run_one);
}
Values emit_several(const Device& device, const op::Op& op, Inputs operands) {
  return prepared(device, op, operands, run_all);
}

}  // namespace

template <class Op>
Value emit(const Op& op, Inputs in) {
  const op::Op& any = op;
  return emit_one(common_device(any, in), any, in);
}

template <class Op>
Value emit(const Device& device, const Op& op, std::initializer_list<Value> in) {
  const op::Op& any = op;
  require<DeviceError>(static_cast<bool>(device), function_name(any), ": no device was given");
  return emit_one(device, any, Inputs(in.begin(), in.size()));
}

template <class Op>
Values emit_all(const Op& op, Inputs in) {
  const op::Op& any = op;
  return emit_several(common_device(any, in), any, in);
}

template <class Op>
Values emit_all(const Device& device, const Op& op, Inputs in) {
  const op::Op& any = op;
  require<DeviceError>(static_cast<bool>(device), function_name(any), ": no device was given");
  return emit_several(device, any, in);
}

namespace {

// Taking the addresses of these functions instantiates them for every op here; callers see only the declarations.
template <class Op>
struct Instantiations {
  Value (*one)(const Op&, Inputs) = &emit<Op>;
  Value (*created)(const Device&, const Op&, std::initializer_list<Value>) = &emit<Op>;
  Values (*all)(const Op&, Inputs) = &emit_all<Op>;
  Values (*all_created)(const Device&, const Op&, Inputs) = &emit_all<Op>;
};
template <class Alternatives>
struct Table;
template <class... Ops>
struct Table<std::variant<Ops...>> : Instantiations<Ops>... {};

[[gnu::used]] const Table<op::Op::Alternatives> kInstantiations;
[[gnu::used]] const Instantiations<op::Op> kAnyOp;

}  // namespace

}  // namespace kiln
