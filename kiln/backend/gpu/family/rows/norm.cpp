#include "kiln/backend/gpu/family/rows/norm.hpp"

namespace kiln::gpu::family {
namespace {

/// A thread sums the distances from its first element, and their squares, which give the variance of its few elements
/// accurately even if they are far from 0. Threads are merged by count, first element, mean distance and sum of squares
/// (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979).
Folding moment_folding(Builder& k, DType type, bool centred) {
  const auto number = [&k, type](double value) { return k.literal(type, value); };
  return {.nothing = [number] { return Exprs{number(0), number(0), number(0), number(0)}; },
          .add =
              [centred](const Exprs& state, const Exprs& element, const Expr&) {
                const Expr& x = element[0];
                const Expr from = centred ? select(state[0] == 0.0, x, state[1]) : state[1];
                const Expr distance = x - from;
                return Exprs{state[0] + 1.0, from, centred ? state[2] + distance : state[2],
                             state[3] + distance * distance};
              },
          .merge =
              [](const Exprs& x, const Exprs& y) {
                const Expr count = x[0] + y[0], share = y[0] / count;
                const Expr distance = (y[1] - x[1]) + (y[2] - x[2]);
                const Expr squares = x[3] + y[3] + distance * distance * x[0] * share;
                const auto unless_empty = [&](const Expr& of_x, const Expr& of_y, const Expr& both) {
                  return select(x[0] == 0.0, of_y, select(y[0] == 0.0, of_x, both));
                };
                return Exprs{count, unless_empty(x[1], y[1], x[1]), unless_empty(x[2], y[2], x[2] + distance * share),
                             unless_empty(x[3], y[3], squares)};
              },
          .settle =
              [number](const Exprs& state) {
                const Expr mean = select(state[0] == 0.0, number(0), state[2] / state[0]);
                const Expr squares = state[3] - state[2] * mean;
                return Exprs{state[0], state[1], mean, select(squares < 0.0, number(0), squares)};
              }};
}

struct MomentsKernel {
  DType dtype;
  bool centred;
  FoldShape shape{};

  DType type() const { return expr::computed_in(dtype); }
  std::vector<DType> state() const { return {type(), type(), type(), type()}; }
  Kernel kernel() const {
    Builder k("moments", Folder::kThreads);
    Folder folder(k, shape, std::array{dtype}, {}, state());
    std::vector<Buffer> to;
    for (int i = 0; i < 5; ++i) to.push_back(k.output(type()));
    const Expr epsilon = k.number(type());
    folder.run(
        moment_folding(k, type(), centred), [](const Exprs& loaded) { return loaded; },
        [&](const Exprs& all, const Expr& at) {
          const Expr variance = all[3] / all[0];
          const Expr mean = select(all[0] == 0.0, variance, all[1] + all[2]);  // without elements, both are NaN
          const Exprs results{all[1], all[2], inverse_deviation(k, variance, epsilon), mean, variance};
          for (std::size_t i = 0; i < to.size(); ++i) to[i].store(at, results[i]);
        });
    return k.finish();
  }
};

struct ApplyKernel {
  DType dtype, result;
  PointwiseShape shape{};

  Kernel kernel() const {
    const DType type = expr::computed_in(dtype);
    Builder k("norm", Pointwise::kThreads);
    Pointwise pointwise(k, shape, std::array{dtype, type, type, type, dtype, dtype}, std::array{result});
    pointwise.run([&](std::span<const Expr> in) { return Exprs{(in[0] - in[1] - in[2]) * in[3] * in[4] + in[5]}; });
    return k.finish();
  }
};

struct GradientKernel {
  DType dtype;
  bool centred;
  PointwiseShape shape{};

  Kernel kernel() const {
    const DType type = expr::computed_in(dtype);
    Builder k("norm_grad", Pointwise::kThreads);
    Pointwise pointwise(k, shape, std::array{dtype, dtype, type, type, type, dtype, type, type}, std::array{dtype});
    const Expr count = k.number(type);
    pointwise.run([&](std::span<const Expr> in) {
      const Expr normal = (in[1] - in[2] - in[3]) * in[4];
      const Expr turned = in[0] * in[5] - normal * (in[7] / count);
      return Exprs{in[4] * (centred ? turned - in[6] / count : turned)};
    });
    return k.finish();
  }
};

}  // namespace

Moments moments(Gpu& gpu, const Array& x, const Dims& dims, bool centred, double epsilon) {
  Shape kept = x.shape;
  for (const auto dim : dims) kept[static_cast<int>(dim)] = 1;
  const MomentsKernel kernel{x.dtype, centred};
  Moments made;
  for (Value& value : made.held) value = gpu.scratch({kept, kernel.type()});
  made.near = read(made.held[0]);
  made.rest = read(made.held[1]);
  made.inverse = read(made.held[2]);
  made.mean = read(made.held[3]);
  made.variance = read(made.held[4]);
  fold(gpu, kernel, {.shape = x.shape, .dims = dims, .inputs = {{x}}, .result = made.near}, kernel.state(),
       {made.near, made.rest, made.inverse, made.mean, made.variance, Argument(Scalar(epsilon), kernel.type())});
  return made;
}

void apply_norm(Gpu& gpu, const PointwiseOperand& x, const Moments& moments, const PointwiseOperand& weight,
                const PointwiseOperand& bias, const Array& y, bool in_place) {
  pointwise(gpu, ApplyKernel{x.array.dtype, y.dtype, {.in_place = in_place}}, y.shape,
            {x, {moments.near}, {moments.rest}, {moments.inverse}, weight, bias}, {y});
}

void apply_norm_gradient(Gpu& gpu, const Array& g, const Array& x, const Moments& moments,
                         const PointwiseOperand& weight, const GradientSums& sums, bool centred, const Array& dx) {
  pointwise(gpu, GradientKernel{dx.dtype, centred}, dx.shape,
            {{g}, {x}, {moments.near}, {moments.rest}, {moments.inverse}, weight, sums.of_gradient, sums.of_product},
            {dx}, {Argument(Scalar(sums.count), expr::computed_in(dx.dtype))});
}

}  // namespace kiln::gpu::family
