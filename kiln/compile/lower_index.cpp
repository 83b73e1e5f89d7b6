// Reading and writing by index.
#include "kiln/compile/lowering.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::compile {

View chosen(const View& x, const View& index, int dim, std::int64_t size, const Counts& strides, const Shape& shape) {
  View view{shape, {}};
  view.value.in.push_back(index.value.in[index.value.value.index]);
  Operand element = x.value.in[x.value.value.index];
  element.access.index = 0;
  element.access.index_stride = x.access().strides[static_cast<std::size_t>(dim)];
  element.access.index_size = size;
  element.access.strides = strides;
  view.value.in.push_back(element);
  view.value.value = {op::ProgramOperand::Input, 1};
  return view;
}

namespace {

/// The strides of a tensor whose dimension `dim` is replaced by `rank` dimensions along which it does not move.
Counts replaced(const Counts& strides, int dim, int rank) {
  Counts result(strides.begin(), strides.begin() + dim);
  result.insert(result.end(), static_cast<std::size_t>(rank), 0);
  result.insert(result.end(), strides.begin() + dim + 1, strides.end());
  return result;
}
/// The index among the dimensions of such a tensor.
View spread(View index, const Shape& x, int dim) {
  Access& access = index.value.in[index.value.value.index].access;
  Counts strides(static_cast<std::size_t>(dim), 0);
  strides.insert(strides.end(), access.strides.begin(), access.strides.end());
  strides.insert(strides.end(), static_cast<std::size_t>(x.size() - dim - 1), 0);
  access.strides = strides;
  return index;
}

/// x with elements of `source` written to `places`, an access over the shape of source by the operand `index`.
void write(Lowering& to, Site& site, const View& index, View source, int dim, Counts strides, Update update) {
  const View copy = to.stored(site.in[0]);
  Loop loop;
  loop.mode = update == Update::Assign ? Mode::Store : Mode::Update;
  switch (update) {
    case Update::Assign:
    case Update::Add: loop.fn = op::ReduceFn::Sum; break;
    case Update::Mul: loop.fn = op::ReduceFn::Prod; break;
    case Update::Min: loop.fn = op::ReduceFn::Min; break;
    case Update::Max: loop.fn = op::ReduceFn::Max; break;
  }
  loop.accumulator = expr::computed_in(copy.dtype());
  loop.sizes = Counts(source.shape.begin(), source.shape.end());
  loop.kept = source.shape.size();
  loop.value = source.value;
  const op::ProgramOperand at = append(loop.value, index.value);
  Access out = whole(copy);
  out.index = at.index;
  out.index_stride = out.strides[static_cast<std::size_t>(dim)];
  out.index_size = copy.shape[dim];
  out.strides = std::move(strides);
  loop.out = {out};
  to.add(std::move(loop));
  site.out = {copy};
}

/// Whether elements would be added to, or multiplied, in memory of halves: they would be rounded at each step.
bool rounds_each(Update update, DType dtype) {
  return (update == Update::Add || update == Update::Mul) && is_float(dtype) && expr::computed_in(dtype) != dtype;
}

}  // namespace

bool lower_index(Lowering& to, Site& site) {
  const auto& op = site.step.op.is;
  const Desc& result = site.result();
  const auto index_of = [&](int slot) {
    const View& index = site.in[static_cast<std::size_t>(slot)];
    return index.is_plain() ? index : to.stored(index);
  };
  const auto aligned = [&](const View& x, int dim) {
    Counts strides = x.access().strides;
    strides[static_cast<std::size_t>(dim)] = 0;
    return strides;
  };
  if (const auto* gather = std::get_if<op::Gather>(&op)) {
    const View x = to.plain(site.in[op::Gather::x]), index = index_of(op::Gather::index);
    const int dim = wrap_dim("gather", gather->dim, x.shape.size());
    site.out = {chosen(x, index, dim, x.shape[dim], aligned(x, dim), result.shape)};
  } else if (const auto* select = std::get_if<op::Select>(&op)) {
    const View x = to.plain(site.in[op::Select::x]), index = index_of(op::Select::index);
    const int dim = wrap_dim("select", select->dim, x.shape.size());
    site.out = {chosen(x, spread(index, x.shape, dim), dim, x.shape[dim],
                       replaced(x.access().strides, dim, index.shape.size()), result.shape)};
  } else if (const auto* scatter = std::get_if<op::Scatter>(&op)) {
    if (rounds_each(scatter->update, result.dtype)) return false;
    const View index = index_of(op::Scatter::index);
    const View& source = site.in[op::Scatter::source];
    const int dim = wrap_dim("scatter", scatter->dim, result.shape.size());
    Counts strides;
    for (const auto stride : contiguous_strides(result.shape)) strides.push_back(stride);
    strides[static_cast<std::size_t>(dim)] = 0;
    write(to, site, index, expanded(source, index.shape), dim, strides, scatter->update);
  } else if (const auto* update = std::get_if<op::SelectUpdate>(&op)) {
    if (rounds_each(update->update, result.dtype)) return false;
    const View index = index_of(op::SelectUpdate::index);
    const int dim = wrap_dim("select", update->dim, result.shape.size());
    Counts strides;
    for (const auto stride : contiguous_strides(result.shape)) strides.push_back(stride);
    Shape shape;
    for (int i = 0; i < dim; ++i) shape.push_back(result.shape[i]);
    for (const auto size : index.shape) shape.push_back(size);
    for (int i = dim + 1; i < result.shape.size(); ++i) shape.push_back(result.shape[i]);
    write(to, site, spread(index, result.shape, dim), expanded(site.in[op::SelectUpdate::source], shape), dim,
          replaced(strides, dim, index.shape.size()), update->update);
  } else {
    return false;
  }
  return true;
}

}  // namespace kiln::compile
