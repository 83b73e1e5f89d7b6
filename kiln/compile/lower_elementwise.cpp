// Elementwise ops, creations and views.
#include "kiln/compile/lowering.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::compile {
namespace {

/// An operand of an elementwise op with a result of `shape`. What is computed, and broadcast, is stored first, so that it
/// is not computed for each copy.
View broadcast_operand(Lowering& to, const View& view, const Shape& shape) {
  const bool repeats = numel(view.shape) < numel(shape) && !view.value.steps.empty() && !view.is_cheap(to.program);
  return expanded(repeats ? to.stored(view) : view, shape);
}

/// The op as a step after those of its operands. Where these are many, operands are stored first.
bool lower(Lowering& to, Site& site, const op::Elementwise& op) {
  std::vector<View> operands;
  std::size_t steps = 0;
  for (const View& view : site.in) {
    operands.push_back(broadcast_operand(to, view, site.result().shape));
    steps += view.value.steps.size();
  }
  if (steps > kMostSteps)
    for (View& view : operands)
      if (!view.value.steps.empty() && !view.is_cheap(to.program)) view = to.stored(view);
  site.out = {combined(op, site.result().dtype, site.result().shape, operands)};
  return true;
}

/// Indices of each dimension as one, counted from the end where they are negative. Whoever reads by it finds an index that is
/// out of range: of one dimension it is the index itself, of several a negative number.
bool lower_index_of(Lowering& to, Site& site, const op::RavelIndex& op) {
  const Shape& shape = site.result().shape;
  const auto number = [&](std::int64_t each) { return number_view(each, DType::I64, shape); };
  const auto of = [&](const op::Elementwise& fn, DType dtype, const std::vector<View>& in) {
    return combined(fn, dtype, shape, in);
  };
  const auto where = [&](const View& condition, const View& x, const View& otherwise) {
    return of(op::Where{}, DType::I64, {condition, x, otherwise});
  };
  View all;
  for (int i = 0; i < op.shape.size(); ++i) {
    const View zero = number(0), size = number(op.shape[i]);
    const View index = of(op::Cast{DType::I64}, DType::I64, {expanded(site.in[static_cast<std::size_t>(i)], shape)});
    View place = where(of(kLess, DType::Bool, {index, zero}), of(kAdd, DType::I64, {index, size}), index);
    if (op.shape.size() > 1) {
      place = to.stored(place);
      const View before =
          i == 0 ? zero : of(kMultiply, DType::I64, {all, size});  // negative if an index was out of range
      const View next = where(of(kLess, DType::Bool, {place, size}), of(kAdd, DType::I64, {before, place}), number(-1));
      place = to.stored(where(of(kLess, DType::Bool, {place, zero}), number(-1), next));
    }
    all = place;
  }
  if (all.value.in.empty()) return false;
  site.out = {all};
  return true;
}

}  // namespace

bool lower_elementwise(Lowering& to, Site& site) {
  const auto& op = site.step.op.is;
  if (const auto* unary = std::get_if<op::Unary>(&op)) return lower(to, site, *unary);
  if (const auto* binary = std::get_if<op::Binary>(&op)) return lower(to, site, *binary);
  if (const auto* where = std::get_if<op::Where>(&op)) return lower(to, site, *where);
  if (const auto* cast = std::get_if<op::Cast>(&op)) return lower(to, site, *cast);
  if (const auto* index = std::get_if<op::RavelIndex>(&op)) return lower_index_of(to, site, *index);
  if (std::holds_alternative<op::Fill>(op)) {
    site.out = {number_view(site.step.in[0].number, site.result().dtype, site.result().shape)};
    return true;
  }
  return false;
}

namespace {

void assign(Lowering& to, Site& site, const op::SliceAssign& op) {
  const View copy = to.stored(site.in[op::SliceAssign::x]);
  const View part = sliced(copy, op.begin, op.step, site.in[op::SliceAssign::value].shape);
  to.store(site.in[op::SliceAssign::value], whole(part));
  site.out = {copy};
}

void join(Lowering& to, Site& site, const op::Cat& op) {
  const Desc& desc = site.result();
  const int dim = wrap_dim("cat", op.dim, desc.shape.size());
  const View all = to.buffer_for(desc);
  Dims begin = Dims::filled(desc.shape.size(), 0), step = Dims::filled(desc.shape.size(), 1);
  for (const View& part : site.in) {
    to.store(part, whole(sliced(all, begin, step, part.shape)));
    begin[dim] += part.shape[dim];
  }
  site.out = {all};
}

/// The adjoint of Unfold: every element of a window is added where it was taken from. Halves would be rounded each time.
bool fold(Lowering& to, Site& site, const op::Fold& op) {
  const DType dtype = site.result().dtype;
  if (is_float(dtype) && expr::computed_in(dtype) != dtype) return false;
  const View sum = to.filled(site.result().dtype, site.result().shape, 0.0);
  Loop loop;
  loop.mode = Mode::Update;
  loop.accumulator = expr::computed_in(dtype);
  const View& x = site.in[0];
  loop.sizes = Counts(x.shape.begin(), x.shape.end());
  loop.kept = x.shape.size();
  loop.value = x.value;
  loop.out = {whole(unfolded(sum, op.dim, op.step, op.dilation, x.shape))};
  to.add(std::move(loop));
  site.out = {sum};
  return true;
}

}  // namespace

bool lower_view(Lowering& to, Site& site) {
  const auto& op = site.step.op.is;
  const Desc& result = site.result();
  if (std::holds_alternative<op::Reshape>(op)) {
    View view = site.in[0];
    if (!reshaped(view, result.shape)) {
      view = to.stored(view);
      reshaped(view, result.shape);
    }
    site.out = {view};
  } else if (const auto* permute = std::get_if<op::Permute>(&op)) {
    site.out = {permuted(site.in[0], permute->dims)};
  } else if (std::holds_alternative<op::Expand>(op)) {
    site.out = {broadcast_operand(to, site.in[0], result.shape)};
  } else if (const auto* slice = std::get_if<op::Slice>(&op)) {
    site.out = {sliced(site.in[0], slice->begin, slice->step, slice->size)};
  } else if (const auto* unfold = std::get_if<op::Unfold>(&op)) {
    site.out = {unfolded(to.reread(site.in[0]), unfold->dim, unfold->step, unfold->dilation, result.shape)};
  } else if (const auto* assigned = std::get_if<op::SliceAssign>(&op)) {
    assign(to, site, *assigned);
  } else if (const auto* cat = std::get_if<op::Cat>(&op)) {
    join(to, site, *cat);
  } else if (const auto* folded = std::get_if<op::Fold>(&op)) {
    return fold(to, site, *folded);
  } else {
    return false;
  }
  return true;
}

}  // namespace kiln::compile
