#include "kiln/backend/gpu/family/rows/norm_rows.hpp"

namespace kiln::gpu::family {
namespace {

/// How channel operands are loaded: there are none, one per element, or one per vector.
enum class Channels : std::uint8_t { None, Elements, Vectors };

/// A row's distances from its mean, and 1 / deviation.
struct Normal {
  Expr first, mean;  // the first element, and the mean of distances from it
  Exprs distances;
  Expr inverse;
};
Normal normal_of(Builder& k, const Row& row, const Exprs& x, const Buffer& from, bool centred, const Expr& epsilon) {
  const Expr count = row.length().as(x[0].type());
  Normal normal{literal_like(x[0], 0.0), literal_like(x[0], 0.0), x, {}};
  if (centred) {
    normal.first = from[row.number() * row.length()];
    const Exprs near = Row::each([&](const Expr& each) { return each - normal.first; }, x);
    normal.mean = row.sum(near) / count;
    normal.distances = Row::each([&](const Expr& each) { return each - normal.mean; }, near);
  }
  const Exprs squares = Row::each([](const Expr& each) { return each * each; }, normal.distances);
  normal.inverse = inverse_deviation(k, row.sum(squares) / count, epsilon);
  return normal;
}

/// Loads a channel operand for each element of a row.
class ByChannel {
 public:
  ByChannel(Builder& k, const RowShape& shape)
      : shape_(shape), groups_(k.number(shape.index)), own_(k.number(shape.index)), inner_(k.number(shape.index)) {}
  Exprs load(const Row& row, const Buffer& from, Channels channels) const {
    const Expr base = row.number() % groups_ * own_;
    if (channels == Channels::Elements) return row.load(from, base);
    Exprs all;
    for (const Expr& place : row.places()) {
      const Expr number = from[base + place / inner_];
      all.insert(all.end(), static_cast<std::size_t>(shape_.width), number);
    }
    return all;
  }

 private:
  const RowShape& shape_;
  Expr groups_, own_, inner_;
};

struct NormRows {
  DType dtype, result;
  bool centred, in_place;
  Channels weight, bias;
  RowShape shape;

  Kernel kernel() const {
    Builder k("norm_rows", shape.threads());
    // While one block waits for its row's sums, the other loads.
    if (shape.threads() == 512 && expr::computed_in(dtype) == DType::F32) k.least_blocks(2);
    const Buffer from = k.input(dtype), weights = k.input(dtype), biases = k.input(dtype);
    const Buffer to = in_place ? k.both(dtype) : k.output(result);
    const Row row(k, shape);
    const ByChannel channel(k, shape);
    const Expr epsilon = k.number(expr::computed_in(dtype));
    const Exprs x = row.load(from);
    const Normal normal = normal_of(k, row, x, from, centred, epsilon);
    Exprs y = Row::each([&](const Expr& each) { return each * normal.inverse; }, normal.distances);
    const auto join = [&](const Buffer& with, Channels channels, auto f) {
      if (channels != Channels::None) y = Row::each(f, y, channel.load(row, with, channels));
    };
    join(weights, weight, [](const Expr& a, const Expr& b) { return a * b; });
    join(biases, bias, [](const Expr& a, const Expr& b) { return a + b; });
    row.store(to, y);
    return k.finish();
  }
};

/// The gradient of x, one row per team; or, with few blocks that go through all rows, also each team's sums for the
/// gradients of weight and bias, which would otherwise need a second pass over x and g.
struct NormGradientRows {
  DType given, dtype;  // the types of the incoming gradient, and of x
  bool centred, sums;
  Channels weight;
  RowShape shape;

  DType type() const { return expr::computed_in(dtype); }
  Kernel kernel() const {
    Builder k("norm_grad_rows", shape.threads());
    const Buffer gradient = k.input(given), from = k.input(dtype), weights = k.input(dtype), to = k.output(dtype);
    std::vector<Buffer> told;  // the moments of rows, or the sums of teams
    for (int i = 0; i < (sums ? 2 : 3); ++i) told.push_back(k.output(type()));
    const Row::Sizes sizes{k.number(shape.index), k.number(shape.index)};
    const ByChannel channel(k, shape);
    const Expr epsilon = k.number(type());
    const auto times = [](const Expr& a, const Expr& b) { return a * b; };
    // Calls tell() with the moments, the incoming gradient and the normalised row.
    const auto run = [&](const Row& row, auto tell) {
      const Exprs x = row.load(from), given = row.load(gradient);
      const Exprs g = weight == Channels::None ? given : Row::each(times, given, channel.load(row, weights, weight));
      const Normal moments = normal_of(k, row, x, from, centred, epsilon);
      const Exprs normal = Row::each([&](const Expr& each) { return each * moments.inverse; }, moments.distances);
      const Expr count = row.length().as(type());
      const Exprs totals = row.sums(std::array{Row::each(times, g, normal), g});
      const Expr along = totals[0] / count, constant = centred ? totals[1] / count : literal_like(along, 0.0);
      row.store(to,
                Row::each([&](const Expr& a, const Expr& b) { return (a - constant - b * along) * moments.inverse; }, g,
                          normal));
      tell(moments, given, normal);
    };
    if (!sums) {
      const Row row(k, shape, sizes);
      run(row, [&](const Normal& moments, const Exprs&, const Exprs&) {
        k.when(row.tells(), [&] {
          const Exprs parts{moments.first, moments.mean, moments.inverse};
          for (std::size_t i = 0; i < parts.size(); ++i) told[i].store(row.number(), parts[i]);
        });
      });
      return k.finish();
    }
    // While one block waits for its row's sums, the other loads.
    if (shape.threads() == 512 && type() == DType::F32) k.least_blocks(2);
    const Row team(k, shape, sizes);
    std::vector<Local> of_weight, of_bias;
    for (int i = 0; i < shape.vectors * shape.width; ++i)
      for (auto* const each : {&of_weight, &of_bias}) each->push_back(k.variable(k.literal(type(), 0.0)));
    // All threads of a block do the same number of iterations, since they synchronize in each row.
    const Expr teams = k.blocks().as(shape.index) * shape.teams();
    k.loop(k.literal(shape.index, 0), sizes.rows, teams, [&](const Expr& first) {
      const Row row(k, shape, sizes, first + Row::turn(k, shape));
      run(row, [&](const Normal&, const Exprs& g, const Exprs& normal) {
        const Expr none = k.literal(type(), 0.0);
        for (std::size_t i = 0; i < g.size(); ++i) {
          of_weight[i].set(of_weight[i] + select(row.inside(), g[i] * normal[i], none));
          of_bias[i].set(of_bias[i] + select(row.inside(), g[i], none));
        }
      });
    });
    team.store(told[0], Exprs(of_weight.begin(), of_weight.end()));
    team.store(told[1], Exprs(of_bias.begin(), of_bias.end()));
    return k.finish();
  }
};

Channels channels_of(const Groups& groups, const PointwiseOperand& operand) {
  return operand.number ? Channels::None : groups.inner == 1 ? Channels::Elements : Channels::Vectors;
}
/// Vectors do not cross channels.
std::optional<RowShape> shape_of(const Gpu& gpu, const Groups& groups, std::vector<Array> arrays,
                                 std::initializer_list<PointwiseOperand> by_channel, int held) {
  std::int64_t line = groups.length();
  for (const PointwiseOperand& each : by_channel) {
    if (each.number) continue;
    if (groups.inner == 1) arrays.push_back(each.array);
    else line = groups.inner;
  }
  return RowShape::of(gpu, groups.rows(), groups.length(), arrays, held, line);
}

}  // namespace

bool norm_rows(Gpu& gpu, const Groups& groups, const Array& x, const PointwiseOperand& weight,
               const PointwiseOperand& bias, const Array& y, bool in_place) {
  const auto shape = shape_of(gpu, groups, {x, y}, {weight, bias}, 1);
  if (!shape) return false;
  gpu.launch(NormRows{x.dtype, y.dtype, groups.centred, in_place, channels_of(groups, weight),
                      channels_of(groups, bias), *shape},
             shape->blocks(groups.rows()),
             {x, weight.array, bias.array, y, groups.rows(), groups.length(), groups.groups, groups.own, groups.inner,
              Argument(Scalar(groups.epsilon), x.dtype)});
  return true;
}

bool norm_gradient_rows(Gpu& gpu, const Groups& groups, const Array& g, const Array& x, const PointwiseOperand& weight,
                        const Array& dx, const Moments& moments) {
  const auto shape = shape_of(gpu, groups, {g, x, dx}, {weight}, 2);
  if (!shape) return false;
  gpu.launch(NormGradientRows{g.dtype, x.dtype, groups.centred, false, channels_of(groups, weight), *shape},
             shape->blocks(groups.rows()),
             {g, x, weight.array, dx, moments.near, moments.rest, moments.inverse, groups.rows(), groups.length(),
              groups.groups, groups.own, groups.inner, Argument(Scalar(groups.epsilon), x.dtype)});
  return true;
}

std::optional<NormGradientParts> norm_gradient_parts(Gpu& gpu, const Groups& groups, const Array& g, const Array& x,
                                                     const PointwiseOperand& weight, const Array& dx) {
  // Threads that a multiprocessor should have, and rows per team, so that its sums cost little.
  constexpr std::int64_t kThreads = 1024, kLeastRows = 4;
  const auto shape = shape_of(gpu, groups, {g, x, dx}, {weight}, 4);
  if (!shape || groups.groups > 1 || groups.inner > 1) return std::nullopt;
  const std::int64_t blocks = gpu.driver().capabilities().multiprocessors * (kThreads / shape->threads());
  const std::int64_t teams = blocks * shape->teams();
  if (groups.batch < teams * kLeastRows) return std::nullopt;
  const NormGradientRows kernel{g.dtype, x.dtype, groups.centred, true, channels_of(groups, weight), *shape};
  const Desc desc{{teams, 1, groups.own, 1}, kernel.type()};
  NormGradientParts parts{gpu.scratch(desc), gpu.scratch(desc)};
  gpu.launch(kernel, blocks,
             {g, x, weight.array, dx, read(parts.weight), read(parts.bias), groups.batch, groups.own, groups.groups,
              groups.own, groups.inner, Argument(Scalar(groups.epsilon), x.dtype)});
  return parts;
}

}  // namespace kiln::gpu::family
