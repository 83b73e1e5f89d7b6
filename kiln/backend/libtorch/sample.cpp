// Images at any positions.
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/ops/spatial/sample_ops.hpp"

namespace kiln::libtorch {
namespace {

/// ATen's numbers of GridSampleOptions.
struct SampleNumbers {
  explicit SampleNumbers(const GridSampleOptions& options)
      : mode(options.mode == Interpolation::Linear    ? 0
             : options.mode == Interpolation::Nearest ? 1
                                                      : 2),
        padding(options.padding == SamplePadding::Zeros    ? 0
                : options.padding == SamplePadding::Border ? 1
                                                           : 2) {}
  std::int64_t mode, padding;
};

/// Positions that ATen reads as Kiln does: numbers, and none so far outside that it cannot count the elements to there.
std::optional<at::Tensor> positions(const Value& grid) {
  const at::Tensor all = computed(grid);
  if (!at::lt(at::abs(all), 1e4).all().item<bool>()) return {};
  return all;
}

/// The gradients of image and grid.
std::tuple<at::Tensor, at::Tensor> gradients(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& grid,
                                             const GridSampleOptions& options, bool of_x) {
  const SampleNumbers numbers(options);
  const auto backward = x.dim() == 4 ? at::grid_sampler_2d_backward : at::grid_sampler_3d_backward;
  return backward(grad, x, grid, numbers.mode, numbers.padding, options.align_corners, {of_x, true});
}

}  // namespace

bool run(const op::GridSample& op, Call call) {
  const std::optional<at::Tensor> grid = positions(call.in[op::GridSample::grid]);
  if (!grid) return false;
  const SampleNumbers numbers(op.options);
  give(call.out[0], at::grid_sampler(computed(call.in[op::GridSample::x]), *grid, numbers.mode, numbers.padding,
                                     op.options.align_corners));
  return true;
}

bool run(const op::GridSampleTranspose& op, Call call) {
  const std::optional<at::Tensor> grid = positions(call.in[op::GridSampleTranspose::grid]);
  if (!grid) return false;
  const at::Tensor y = computed(call.in[op::GridSampleTranspose::y]);
  const at::Tensor image = at::zeros(to_vector(call.out[0].shape()), y.options());
  give(call.out[0], std::get<0>(gradients(y, image, *grid, op.options, true)));
  return true;
}

bool run(const op::GridSampleGridGrad& op, Call call) {
  using op::GridSampleGridGrad;
  const std::optional<at::Tensor> grid = positions(call.in[GridSampleGridGrad::grid]);
  if (!grid) return false;
  const at::Tensor x = computed(call.in[GridSampleGridGrad::x]), grad = computed(call.in[GridSampleGridGrad::grad]);
  give(call.out[0], std::get<1>(gradients(grad, x, *grid, op.options, false)));
  return true;
}

}  // namespace kiln::libtorch
