// Pools and their gradients.
#include <optional>

#include "kiln/compile/nest.hpp"
#include "kiln/ops/expression/combiner.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::compile {
namespace {

enum Place : int { kX, kY };

struct PoolAxes {
  Axes results, window;
  Dims begin;  // of x
};

/// The axes of a pool; nothing where the windows of an adaptive one differ in size.
std::optional<PoolAxes> axes_of(const op::Window& window, const Spatial& adaptive, bool dilates, const Shape& x,
                                const Shape& y) {
  PoolAxes axes{.results = {{x[0], {{kX, 0}, {kY, 0}}}, {x[1], {{kX, 1}, {kY, 1}}}}, .window = {}, .begin = {0, 0}};
  for (int i = 0; i + 2 < x.size(); ++i) {
    std::int64_t kernel, stride, padding = 0, dilation = 1;
    if (!adaptive.empty()) {
      if (y[i + 2] == 0 || x[i + 2] % y[i + 2] != 0) return {};
      kernel = stride = x[i + 2] / y[i + 2];
    } else {
      kernel = window.kernel[i];
      stride = window.stride[i];
      padding = window.padding[i];
      if (dilates) dilation = window.dilation[i];
    }
    axes.results.push_back({y[i + 2], {{kX, i + 2, stride}, {kY, i + 2}}});
    axes.window.push_back({kernel, {{kX, i + 2, dilation}}});
    axes.begin.push_back(-padding);
  }
  return axes;
}

bool max_pool(Lowering& to, Site& site, const op::MaxPool& op) {
  const View x = to.reread(site.in[0]);
  const auto axes = axes_of(op.window, op.adaptive, true, x.shape, site.result().shape);
  if (!axes) return false;
  const Axes all = joined(axes->results, axes->window);
  Loop loop;
  loop.mode = Mode::Fold;
  loop.fn = op::ReduceFn::Max;
  loop.accumulator = expr::accumulator(loop.fn, x.dtype());
  loop.sizes = sizes_of(all);
  loop.kept = static_cast<int>(axes->results.size());
  loop.value = placed(x, kX, all, axes->begin);
  loop.guards = guards(x.shape, kX, all, axes->begin);
  for (const Desc& desc : site.step.results) {
    site.out.push_back(to.buffer_for(desc));
    loop.out.push_back(places(site.out.back(), kY, all));
  }
  if (op.indexed) {
    loop.mode = Mode::Extreme;
    // The index is that of the element in its image and channel.
    View plane = buffer_view(-1, x.dtype(), x.shape);
    for (std::size_t dim = 0; dim < 2; ++dim) plane.value.in[0].access.strides[dim] = 0;
    const Access at = places(plane, kX, all, axes->begin);
    loop.index = {at.strides, at.offset, 0};
  }
  to.add(std::move(loop));
  return true;
}

/// What each sum of an average is divided by, of shape [1, 1, sizes...].
View divisors(Lowering& to, const op::AvgPool& op, const Shape& x, const Shape& y, DType dtype) {
  Shape shape = y;
  shape[0] = shape[1] = 1;
  std::vector<double> all;
  bool equal = true;
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    std::int64_t left = i, divisor = 1;
    for (int dim = shape.size(); dim-- > 2; left /= shape[dim])
      divisor *= op.part(dim - 2, left % shape[dim], x[dim]).divisor;
    all.push_back(static_cast<double>(divisor));
    equal = equal && all.back() == all.front();
  }
  if (equal) return number_view(all.empty() ? 1.0 : all.front(), dtype, y);
  const View view = buffer_view(to.add_constant(TensorData::of<double>(shape, all).to(dtype)), dtype, shape);
  return expanded(view, y);
}

bool average_pool(Lowering& to, Site& site, const op::AvgPool& op) {
  const View x = to.reread(site.in[0]);
  const Desc& desc = site.result();
  const auto axes = axes_of(op.window, op.adaptive, false, x.shape, desc.shape);
  if (!axes) return false;
  const Axes all = joined(axes->results, axes->window);
  // Sums of halves are rounded once, when they have been divided.
  const DType wide = expr::computed_in(desc.dtype);
  const View sum = to.buffer_for({desc.shape, wide});
  Loop loop;
  loop.mode = Mode::Fold;
  loop.fn = op::ReduceFn::Sum;
  loop.accumulator = expr::accumulator(loop.fn, x.dtype());
  loop.sizes = sizes_of(all);
  loop.kept = static_cast<int>(axes->results.size());
  loop.value = placed(x, kX, all, axes->begin);
  loop.guards = guards(x.shape, kX, all, axes->begin);
  loop.out = {places(sum, kY, all)};
  to.add(std::move(loop));
  const View mean = combined(kDivide, wide, desc.shape, {sum, divisors(to, op, x.shape, desc.shape, wide)});
  site.out = {wide == desc.dtype ? mean : combined(op::Cast{desc.dtype}, desc.dtype, desc.shape, {mean})};
  return true;
}

bool average_gradient(Lowering& to, Site& site, const op::AvgPoolGrad& op) {
  const View& y = site.in[0];
  const Desc& desc = site.result();
  const auto axes = axes_of(op.pool.window, op.pool.adaptive, false, desc.shape, y.shape);
  if (!axes || expr::computed_in(desc.dtype) != desc.dtype) return false;
  const View share =
      to.stored(combined(kDivide, desc.dtype, y.shape, {y, divisors(to, op.pool, desc.shape, y.shape, desc.dtype)}));
  const View sum = to.filled(desc.dtype, desc.shape, 0.0);
  const Axes all = joined(axes->results, axes->window);
  Loop loop;
  loop.mode = Mode::Update;
  loop.accumulator = desc.dtype;
  loop.sizes = sizes_of(all);
  loop.kept = static_cast<int>(all.size());
  loop.value = placed(share, kY, all);
  loop.guards = guards(desc.shape, kX, all, axes->begin);
  loop.out = {places(sum, kX, all, axes->begin)};
  to.add(std::move(loop));
  site.out = {sum};
  return true;
}

bool max_gradient(Lowering& to, Site& site) {
  const Desc& desc = site.result();
  if (expr::computed_in(desc.dtype) != desc.dtype) return false;
  const View& y = site.in[op::MaxPoolGrad::y];
  const View indices = to.plain(site.in[op::MaxPoolGrad::indices]);
  const View sum = to.filled(desc.dtype, desc.shape, 0.0);
  Loop loop;
  loop.mode = Mode::Update;
  loop.accumulator = desc.dtype;
  loop.sizes = Counts(y.shape.begin(), y.shape.end());
  loop.kept = y.shape.size();
  loop.value = y.value;
  const op::ProgramOperand index = append(loop.value, indices.value);
  Access out = whole(sum);
  for (std::size_t dim = 2; dim < out.strides.size(); ++dim) out.strides[dim] = 0;
  out.index = index.index;
  out.index_stride = 1;
  out.index_size = 1;
  for (int dim = 2; dim < desc.shape.size(); ++dim) out.index_size *= desc.shape[dim];
  loop.out = {out};
  to.add(std::move(loop));
  site.out = {sum};
  return true;
}

}  // namespace

bool lower_window(Lowering& to, Site& site) {
  const auto& op = site.step.op.is;
  if (const auto* largest = std::get_if<op::MaxPool>(&op)) return max_pool(to, site, *largest);
  if (const auto* average = std::get_if<op::AvgPool>(&op)) return average_pool(to, site, *average);
  if (const auto* gradient = std::get_if<op::AvgPoolGrad>(&op)) return average_gradient(to, site, *gradient);
  if (std::holds_alternative<op::MaxPoolGrad>(op)) return max_gradient(to, site);
  return false;
}

}  // namespace kiln::compile
