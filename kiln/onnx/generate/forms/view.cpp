// How Kiln says views, joins and cuts.
#include <limits>

#include "kiln/onnx/generate/forms/forms.hpp"

namespace kiln::onnx::cpp {
namespace {

using enum kiln::Kind;

Said flatten(const Site& n) {
  if (!n.typed(0) || n.rank(0) < 2 || n.i("axis", 1) != 1 || !n.gives(n.operand(0).type.kind)) return {};
  return said(text(n.in(0), ".flatten<1>()"));
}

// A size as a call of reshape() says it: a number, or the size of the operand that has the same name.
std::optional<std::string> size_text(const Dim& size, std::size_t place, const Site& n) {
  if (size.value && *size.value != 0) return literal(*size.value);
  if (size.value) return text(n.in(0), ".dim(", place, ')');  // 0: as the operand's
  const std::optional<PartialShape> shape = n.operand(0).shape;
  if (size.param.empty() || !shape) return {};
  for (std::size_t d = 0; d < shape->size(); ++d)
    if (!(*shape)[d].value && (*shape)[d].param == size.param) return text(n.in(0), ".dim(", d, ')');
  return {};
}

Said reshape(const Site& n) {
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
  std::string list;
  int open = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::optional<std::string> size = size_text(sizes[d], d, n);
    if (!size || (sizes[d].value && *sizes[d].value == 0 && static_cast<int>(d) >= n.rank(0))) {
      if (open) return {};
      size = "-1";
    }
    open += *size == "-1";
    list += (list.empty() ? "" : ", ") + *size;
  }
  if (open > 1) return {};
  return said(text(n.in(0), ".reshape(", list, ')'));
}

Said transpose(const Site& n) {
  if (!n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  Ints order = n.list("perm");
  const auto rank = static_cast<std::size_t>(n.rank(0));
  if (order.empty())
    for (std::size_t d = rank; d-- > 0;) order.push_back(static_cast<std::int64_t>(d));
  if (order.size() != rank || rank < 2) return {};
  Ints moved;
  for (std::size_t d = 0; d < rank; ++d)
    if (order[d] != static_cast<std::int64_t>(d)) moved.push_back(static_cast<std::int64_t>(d));
  if (rank == 2 && moved.size() == 2) return said(n.in(0) + ".t()");
  if (moved.size() == 2) return said(text(n.in(0), ".transpose(", joined(moved), ')'));
  return said(text(n.in(0), ".permute(", joined(order), ')'));
}

Said unsqueeze(const Site& n) {
  const std::optional<Ints> axes = n.ints_either(1, "axes");
  if (!axes || axes->empty() || !n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  return said(text(n.in(0), ".unsqueeze(", joined(*axes), ')'));
}
Said squeeze(const Site& n) {
  const std::optional<Ints> axes = n.ints_either(1, "axes");
  if (!axes || axes->empty() || !n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  return said(text(n.in(0), ".squeeze(", joined(*axes), ')'));
}

Said concat(const Site& n) {
  std::string parts;
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    if (!n.typed(i) || n.operand(i).element != n.operand(0).element || n.operand(i).type != n.operand(0).type)
      return {};
    // A parameter is a tensor, but braces do not see that.
    const bool plain = n.operand(i).text.front() == kValueMark;
    parts +=
        (parts.empty() ? "" : ", ") + (plain ? n.in(i) : text(name_of(n.operand(i).type), '(', n.in(i), ".value())"));
  }
  if (!n.given("axis") || n.inputs() < 2 || !n.gives(n.operand(0).type.kind)) return {};
  return said(text("cat({", parts, "}, ", n.i("axis", 0), ')'));
}

Said gather(const Site& n) {
  const Datum* const index = n.constant(1);
  if (!index || index->value().rank() != 0 || !n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  return said(text(n.in(0), ".at(", n.i("axis", 0), ", ", literal((*n.ints(1))[0]), ')'));
}

// Ends beyond the last element are cut off, as Range has it.
Said slice(const Site& n) {
  const std::optional<Ints> starts = n.ints_either(1, "starts"), ends = n.ints_either(2, "ends");
  const std::optional<Ints> axes = n.ints_either(3, "axes"), steps = n.has(4) ? n.ints(4) : Ints{1};
  if (!starts || !ends || !axes || !steps || starts->size() != 1 || ends->size() != 1 || axes->size() != 1 ||
      steps->size() != 1 || (*steps)[0] != 1 || !n.typed(0) || !n.gives(n.operand(0).type.kind))
    return {};
  const std::int64_t from = (*starts)[0], to = (*ends)[0];
  const std::string last = to >= std::numeric_limits<std::int32_t>::max() ? "{}" : literal(to);
  return said(text(n.in(0), ".slice_dim(", (*axes)[0], ", {", from == 0 ? "{}" : literal(from), ", ", last, "})"));
}

constexpr Form kForms[] = {
    {"Concat", concat}, {"Flatten", flatten}, {"Gather", gather},       {"Reshape", reshape},
    {"Slice", slice},   {"Squeeze", squeeze}, {"Transpose", transpose}, {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const Form> view_forms() { return kForms; }

}  // namespace kiln::onnx::cpp
