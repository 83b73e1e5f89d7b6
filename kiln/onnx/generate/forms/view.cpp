// Forms of views, joins and slices.
#include <limits>

#include "kiln/onnx/generate/forms/forms.hpp"

namespace kiln::onnx::cpp {
namespace {

using enum kiln::Kind;

MaybeStatement flatten(const Site& n) {
  if (!n.typed(0) || n.rank(0) < 2 || n.i("axis", 1) != 1 || !n.gives(n.operand(0).type.kind)) return {};
  return statement_of(Code::method(n.in(0), "flatten<1>"));
}

// A size in a call of reshape(): a number, or the size of the operand that has the same name.
std::optional<Code> size_code(const Dim& size, std::size_t place, const Site& n) {
  const auto size_of = [&](std::size_t dim) {
    return Code::method(n.in(0), "dim", {Code::literal(static_cast<std::int64_t>(dim))});
  };
  if (size.value && *size.value != 0) return Code::literal(*size.value);
  if (size.value) return size_of(place);  // 0: as the operand's
  const std::optional<PartialShape> shape = n.operand(0).shape;
  if (size.param.empty() || !shape) return {};
  for (std::size_t d = 0; d < shape->size(); ++d)
    if (!(*shape)[d].value && (*shape)[d].param == size.param) return size_of(d);
  return {};
}

MaybeStatement reshape(const Site& n) {
  if (n.node.version < 5 || !n.typed(0) || n.rank(0) < 1 || n.i("allowzero", 0) || !n.one_result()) return {};
  PartialShape sizes;
  if (const std::optional<Ints> given = n.ints(1)) {
    for (const std::int64_t size : *given) sizes.push_back({size, {}});
  } else if (const PartialShape* const known = n.lowering.numbers(n.node.inputs[1])) {
    sizes = *known;
  } else {
    return {};
  }
  if (sizes.empty() || sizes.size() > kMaxRank) return {};
  if (!n.gives(n.operand(0).type.kind) || n.rank() != static_cast<int>(sizes.size())) return {};
  Code::List list;
  int open = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::optional<Code> size = size_code(sizes[d], d, n);
    if (!size || (sizes[d].value && *sizes[d].value == 0 && static_cast<int>(d) >= n.rank(0))) {
      if (open) return {};
      size = Code::literal(std::int64_t{-1});
    }
    open += size->text == "-1";
    list.push_back(std::move(*size));
  }
  if (open > 1) return {};
  return statement_of(Code::method(n.in(0), "reshape", std::move(list)));
}

MaybeStatement transpose(const Site& n) {
  if (!n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  Ints order = n.list("perm");
  const auto rank = static_cast<std::size_t>(n.rank(0));
  if (order.empty())
    for (std::size_t d = rank; d-- > 0;) order.push_back(static_cast<std::int64_t>(d));
  if (order.size() != rank || rank < 2) return {};
  Ints moved;
  for (std::size_t d = 0; d < rank; ++d)
    if (order[d] != static_cast<std::int64_t>(d)) moved.push_back(static_cast<std::int64_t>(d));
  if (rank == 2 && moved.size() == 2) return statement_of(Code::method(n.in(0), "t"));
  if (moved.size() == 2) return statement_of(Code::method(n.in(0), "transpose", literals(moved)));
  return statement_of(Code::method(n.in(0), "permute", literals(order)));
}

// Unsqueeze and Squeeze.
MaybeStatement with_axes(const Site& n) {
  const std::optional<Ints> axes = n.ints_either(1, "axes");
  if (!axes || axes->empty() || !n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  return statement_of(Code::method(n.in(0), n.node.op == "Squeeze" ? "squeeze" : "unsqueeze", literals(*axes)));
}

MaybeStatement concat(const Site& n) {
  Code::List parts;
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    if (!n.typed(i) || n.operand(i).element != n.operand(0).element || n.operand(i).type != n.operand(0).type)
      return {};
    // A parameter converts to a tensor, but not within braces.
    const bool plain = n.in(i).kind == Code::Kind::Value;
    parts.push_back(plain ? n.in(i) : Code::call(name_of(n.operand(i).type), {Code::method(n.in(i), "value")}));
  }
  if (!n.given("axis") || n.inputs() < 2 || !n.gives(n.operand(0).type.kind)) return {};
  return statement_of(Code::call("cat", {Code::list(std::move(parts)), Code::literal(n.i("axis", 0))}));
}

MaybeStatement gather(const Site& n) {
  const Datum* const index = n.constant(1);
  if (!index || index->value().rank() != 0 || !n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  return statement_of(Code::method(n.in(0), "at", {Code::literal(n.i("axis", 0)), Code::literal((*n.ints(1))[0])}));
}

// Ends beyond the last element are cut off, as Range has it.
MaybeStatement slice(const Site& n) {
  const std::optional<Ints> starts = n.ints_either(1, "starts"), ends = n.ints_either(2, "ends");
  const std::optional<Ints> axes = n.ints_either(3, "axes"), steps = n.has(4) ? n.ints(4) : Ints{1};
  if (!starts || !ends || !axes || !steps || starts->size() != 1 || ends->size() != 1 || axes->size() != 1 ||
      steps->size() != 1 || (*steps)[0] != 1 || !n.typed(0) || !n.gives(n.operand(0).type.kind))
    return {};
  const std::int64_t from = (*starts)[0], to = (*ends)[0];
  const Code open = Code::verbatim("{}"), first = from == 0 ? open : Code::literal(from),
             last = to >= std::numeric_limits<std::int32_t>::max() ? open : Code::literal(to);
  return statement_of(Code::method(n.in(0), "slice_dim", {Code::literal((*axes)[0]), Code::list({first, last})}));
}

constexpr Form kForms[] = {
    {"Concat", concat}, {"Flatten", flatten},   {"Gather", gather},       {"Reshape", reshape},
    {"Slice", slice},   {"Squeeze", with_axes}, {"Transpose", transpose}, {"Unsqueeze", with_axes},
};

}  // namespace

std::span<const Form> view_forms() { return kForms; }

}  // namespace kiln::onnx::cpp
