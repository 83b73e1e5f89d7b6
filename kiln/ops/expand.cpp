#include "kiln/ops/expand.hpp"

#include <algorithm>

#include "kiln/ops/emit.hpp"
#include "kiln/ops/precision.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace {

/// Returns a value of `device` that shares the memory of `value`.
Value on(const Device& device, const Value& value) {
  if (!value.node() || value.node()->device == device) return value;
  auto node = make_ref<Node>(value.node()->desc, device);
  node->storage = value.node()->storage;
  node->strides = value.node()->strides;
  node->offset = value.node()->offset;
  return Value(std::move(node));
}

}  // namespace

bool is_composite(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) { return op::Composite<T>; });
}
bool is_planned(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) { return op::Planned<T>; });
}
bool is_view(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) { return T::kTraits.pattern == Pattern::View; });
}
bool needs_ranks(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) { return T::kTraits.may_fail == MayFail::WithRanks; });
}

Values expansion(const op::Op& op, Inputs in, std::span<const Value> out) {
  const NoGrad pause;
  const Autocast off(DType::F32);
  // A planned op's steps have their own; an op without precision may rely on exact products.
  const auto precision = op::precision_of(op);
  const Float32Precision own(precision == Float32Precision::OfDevice ? Float32Precision::Highest : precision);
  const std::string_view name = op::name(op);
  Values results = op::visit(op, [&]<class T>(const T& o) -> Values {
    if constexpr (op::Composite<T>) return o.expand(in);
    else fail<DeviceError>(T::kName, ": this device has no kernel for it");
  });
  require<ArgumentError>(results.size() == out.size(), name, ": expand gives ", results.size(), " results, infer ",
                         out.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    require<ShapeError>(results[i].node() && results[i].node()->desc == out[i].node()->desc, name, ": expand gives ",
                        results[i], " where infer says ", out[i]);
  return results;
}

void run_or_expand(Backend& backend, const op::Op& op, Call call) {
  if (backend.has_kernel(op)) backend.run(op, call);
  else run_expansion(backend, op, call);
}

// The operands may name a decorator of the backend as their device; the parts must not pass through it again.
void run_expansion(Backend& backend, const op::Op& op, Call call) {
  const Device here{Ref<Backend>(&backend)};
  Values in;
  in.reserve(call.in.size());
  for (const Value& value : call.in) in.push_back(on(here, value));
  const Values results = expansion(op, in, call.out);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Node& made = *results[i].node();
    Node& result = *call.out[i].node();
    KILN_CHECK(made.storage);
    result.storage = made.storage;
    result.strides = made.strides;
    result.offset = made.offset;
  }
}

Values emit_part(const op::Op& op, Inputs in) {
  const auto* fused = std::get_if<op::Fused>(&op.is);
  const auto* epilogue = std::get_if<op::Epilogue>(&op.is);
  if (!fused && !epilogue) return emit_all(op, in);
  const op::Program& program = fused ? *fused->program : *epilogue->program;
  const auto tensor = std::ranges::find_if(in, [](const Value& value) { return bool(value.node()); });
  const Device device = tensor->device();
  if (!device.backend().has_kernel(op)) return fused ? fused->expand(in) : epilogue->expand(in);
  Values results;
  for (const Desc& desc : program.results()) results.emplace_back(make_ref<Node>(desc, device));
  device.backend().run(op, {in, results});
  return results;
}

}  // namespace kiln
