// Weighted sums of chosen elements: resampling along a dimension, and blends at any points.
#include <algorithm>

#include "kiln/compile/lowering.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::compile {
namespace {

/// A plain view's places as dimensions of a tensor of `rank`, of which it has `dims`, in this order.
View along(View view, const Dims& dims, const Shape& shape) {
  Access& access = view.value.in[view.value.value.index].access;
  Counts strides(static_cast<std::size_t>(shape.size()), 0);
  for (int i = 0; i < dims.size(); ++i)
    strides[static_cast<std::size_t>(dims[i])] = access.strides[static_cast<std::size_t>(i)];
  access.strides = std::move(strides);
  view.shape = shape;
  return view;
}

View widened(const View& view, DType dtype) {
  return view.dtype() == dtype ? view : combined(op::Cast{dtype}, dtype, view.shape, {view});
}

/// The sums over the last dimension of `terms`, as the step's result.
View summed(Lowering& to, const Site& site, const View& terms) {
  Loop loop;
  loop.mode = Mode::Fold;
  loop.fn = op::ReduceFn::Sum;
  loop.accumulator = terms.dtype();
  loop.sizes = Counts(terms.shape.begin(), terms.shape.end());
  loop.kept = terms.shape.size() - 1;
  loop.value = terms.value;
  const View result = to.buffer_for(site.result());
  Access out = whole(result);
  out.strides.push_back(0);
  loop.out = {std::move(out)};
  to.add(std::move(loop));
  return result;
}

/// The elements of x at `index` along `dim`, for a shape that has one dimension more, the taps.
View taken(const View& x, const View& index, int dim, const Shape& shape) {
  Counts strides = x.access().strides;
  strides[static_cast<std::size_t>(dim)] = 0;
  strides.push_back(0);
  return chosen(x, index, dim, x.shape[dim], strides, shape);
}

/// A constant of the numbers, [rows, taps]. It is kept as a list, which is no weight, so that it is never made float16.
template <class T>
View table(Lowering& to, const Shape& shape, const std::vector<T>& numbers, DType dtype) {
  const TensorData list = TensorData::of<T>({std::ssize(numbers)}, numbers);
  return buffer_view(to.add_constant(list.to(dtype)), dtype, shape);
}

void resample(Lowering& to, Site& site, const op::Resample& op) {
  const Desc& result = site.result();
  const op::Resample::Taps taps = op.taps();
  const auto rows = static_cast<std::int64_t>(taps.rows.size());
  std::int64_t most = 1;
  for (const auto& row : taps.rows) most = std::max(most, row.count);
  const View x = to.plain(site.in[0]);
  const int dim = wrap_dim("resample", op.dim, x.shape.size());
  // Rows with fewer taps than the longest are filled up by ones of another place, which do not count.
  const auto size = static_cast<std::size_t>(rows * most);
  std::vector<std::int32_t> index(size);
  std::vector<double> weight(size);
  bool fills = false;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto& row = taps.rows[static_cast<std::size_t>(i)];
    fills = fills || row.count < most;
    for (std::int64_t k = 0; k < most; ++k) {
      const auto at = static_cast<std::size_t>(i * most + k);
      index[at] = static_cast<std::int32_t>(row.begin +
                                            std::clamp<std::int64_t>(k, 0, std::max<std::int64_t>(row.count - 1, 0)));
      if (k < row.count) weight[at] = taps.weights[static_cast<std::size_t>(row.first + k)];
    }
  }
  Shape shape = result.shape;
  shape.push_back(most);
  const Dims dims{dim, shape.size() - 1};
  const View at = along(table(to, {rows, most}, index, DType::I32), dims, shape);
  const bool copies = most == 1 && !fills && std::ranges::all_of(weight, [](double each) { return each == 1; });
  if (copies) {
    View copy = taken(x, at, dim, shape);
    copy.shape = result.shape;
    for (Operand& operand : copy.value.in) operand.access.strides.pop_back();
    site.out = {copy};
    return;
  }
  const DType dtype = expr::computed_in(result.dtype);
  const View factor = along(table(to, {rows, most}, weight, dtype), dims, shape);
  View terms = combined(kMultiply, dtype, shape, {widened(taken(x, at, dim, shape), dtype), factor});
  if (fills) {
    std::vector<std::int32_t> counts(size);
    for (std::size_t i = 0; i < size; ++i)
      counts[i] = static_cast<std::int64_t>(i) % most < taps.rows[i / static_cast<std::size_t>(most)].count;
    const View counted = along(table(to, {rows, most}, counts, DType::Bool), dims, shape);
    terms = combined(op::Where{}, dtype, shape, {counted, terms, number_view(0.0, dtype, shape)});
  }
  site.out = {summed(to, site, terms)};
}

/// An index outside of x adds nothing: it is read at the nearest element and does not count.
void blend(Lowering& to, Site& site) {
  const Desc& result = site.result();
  const View x = to.plain(site.in[op::Blend::x]), index = to.plain(site.in[op::Blend::index]);
  Shape shape = result.shape;
  shape.push_back(index.shape.back());
  const Shape& points = index.shape;
  const auto number = [&](std::int64_t each) { return number_view(each, DType::I64, points); };
  const DType dtype = expr::computed_in(result.dtype);
  if (x.shape.back() == 0) {
    site.out = {number_view(0.0, result.dtype, result.shape)};
    return;
  }
  const View low = combined(kMaximum, DType::I64, points, {index, number(0)});
  const View inside = to.stored(combined(kMinimum, DType::I64, points, {low, number(x.shape.back() - 1)}));
  const Dims dims{0, 2, 3};
  const View at = along(inside, dims, shape), given = along(index, dims, shape);
  const View weight = along(to.plain(site.in[op::Blend::weight]), dims, shape);
  const View terms =
      combined(kMultiply, dtype, shape, {widened(taken(x, at, 2, shape), dtype), widened(weight, dtype)});
  const View counts = combined(kEqual, DType::Bool, shape, {at, given});
  site.out = {summed(to, site, combined(op::Where{}, dtype, shape, {counts, terms, number_view(0.0, dtype, shape)}))};
}

}  // namespace

bool lower_blend(Lowering& to, Site& site) {
  const auto& op = site.step.op.is;
  if (const auto* resampled = std::get_if<op::Resample>(&op)) resample(to, site, *resampled);
  else if (std::holds_alternative<op::Blend>(op)) blend(to, site);
  else return false;
  return true;
}

}  // namespace kiln::compile
