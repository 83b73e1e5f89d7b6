#include "kiln/backend/gpu/family/rows/norm_rows.hpp"

namespace kiln::gpu::family {
namespace {

/// How elements find what belongs to their channel: nothing does, each is one, or all of a vector are.
enum class Channels : std::uint8_t { None, Elements, Vectors };

/// A row's elements less their mean, and 1 / deviation.
struct Normal {
  Expr first, mean;  // of distances from the first element
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

/// The numbers of an operand of channels for each element of a row.
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
  DType dtype;
  bool centred, in_place;
  Channels weight, bias;
  RowShape shape;

  Kernel kernel() const {
    Builder k("norm_rows", shape.threads());
    const Buffer from = k.input(dtype), weights = k.input(dtype), biases = k.input(dtype);
    const Buffer to = in_place ? k.both(dtype) : k.output(dtype);
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

struct NormGradientRows {
  DType dtype;
  bool centred;
  Channels weight;
  RowShape shape;

  Kernel kernel() const {
    const DType type = expr::computed_in(dtype);
    Builder k("norm_grad_rows", shape.threads());
    const Buffer gradient = k.input(dtype), from = k.input(dtype), weights = k.input(dtype), to = k.output(dtype);
    const Buffer first = k.output(type), mean = k.output(type), inverse = k.output(type);
    const Row row(k, shape);
    const ByChannel channel(k, shape);
    const Expr epsilon = k.number(type);
    const Exprs x = row.load(from);
    Exprs g = row.load(gradient);
    const auto times = [](const Expr& a, const Expr& b) { return a * b; };
    if (weight != Channels::None) g = Row::each(times, g, channel.load(row, weights, weight));
    const Normal moments = normal_of(k, row, x, from, centred, epsilon);
    const Exprs normal = Row::each([&](const Expr& each) { return each * moments.inverse; }, moments.distances);
    const Expr count = row.length().as(type);
    const Exprs sums = row.sums(std::array{Row::each(times, g, normal), g});
    const Expr along = sums[0] / count, constant = centred ? sums[1] / count : literal_like(along, 0.0);
    row.store(to, Row::each([&](const Expr& a, const Expr& b) { return (a - constant - b * along) * moments.inverse; },
                            g, normal));
    k.when(row.tells(), [&] {
      first.store(row.number(), moments.first);
      mean.store(row.number(), moments.mean);
      inverse.store(row.number(), moments.inverse);
    });
    return k.finish();
  }
};

Channels channels_of(const Groups& groups, const Operand& operand) {
  return operand.number ? Channels::None : groups.inner == 1 ? Channels::Elements : Channels::Vectors;
}
/// No vector lies across channels.
std::optional<RowShape> shape_of(const Groups& groups, std::vector<Array> arrays,
                                 std::initializer_list<Operand> by_channel, int held) {
  std::int64_t line = groups.length();
  for (const Operand& each : by_channel) {
    if (each.number) continue;
    if (groups.inner == 1) arrays.push_back(each.array);
    else line = groups.inner;
  }
  return RowShape::of(groups.rows(), groups.length(), arrays, held, line);
}

}  // namespace

bool norm_rows(Gpu& gpu, const Groups& groups, const Array& x, const Operand& weight, const Operand& bias,
               const Array& y, bool in_place) {
  const auto shape = shape_of(groups, {x, y}, {weight, bias}, 1);
  if (!shape) return false;
  gpu.launch(
      NormRows{x.dtype, groups.centred, in_place, channels_of(groups, weight), channels_of(groups, bias), *shape},
      shape->blocks(groups.rows()),
      {x, weight.array, bias.array, y, groups.rows(), groups.length(), groups.groups, groups.own, groups.inner,
       Argument(Scalar(groups.epsilon), x.dtype)});
  return true;
}

bool norm_gradient_rows(Gpu& gpu, const Groups& groups, const Array& g, const Array& x, const Operand& weight,
                        const Array& dx, const Moments& moments) {
  const auto shape = shape_of(groups, {g, x, dx}, {weight}, 2);
  if (!shape) return false;
  gpu.launch(NormGradientRows{x.dtype, groups.centred, channels_of(groups, weight), *shape},
             shape->blocks(groups.rows()),
             {g, x, weight.array, dx, moments.near, moments.rest, moments.inverse, groups.rows(), groups.length(),
              groups.groups, groups.own, groups.inner, Argument(Scalar(groups.epsilon), x.dtype)});
  return true;
}

}  // namespace kiln::gpu::family
