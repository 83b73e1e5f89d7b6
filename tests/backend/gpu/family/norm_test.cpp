// Softmax, cross entropy and norms against their definitions in doubles, with rows that fit into a warp, a block, and neither.
#include <cmath>

#include "kiln/core/error/error.hpp"
#include "tests/backend/gpu/family/device.hpp"

namespace kiln::test {
namespace {

using Numbers = std::vector<double>;

double tolerance(DType dtype) {
  return dtype == DType::F64 ? 1e-12 : dtype == DType::F32 ? 3e-6 : dtype == DType::F16 ? 2e-3 : 1.6e-2;
}

/// Numbers around `middle` that elements of `dtype` hold.
TensorData numbers(const Shape& shape, DType dtype, unsigned seed, double middle = 0, double spread = 2) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(middle - spread, middle + spread);
  Numbers all(places(shape));
  for (double& each : all) each = uniform(random);
  return TensorData::of<double>(shape, std::span<const double>(all)).to(dtype);
}
Value on_gpu(const TensorData& data) { return from_data(data, simulated()); }

/// Each within the tolerance of its type, of the largest.
void expect_near(const Value& found, const Numbers& wanted, const std::string& what, double slack = 1) {
  const Numbers all = found.data().to_vector<double>();
  ASSERT_EQ(all.size(), wanted.size()) << what;
  double largest = 0;
  for (const double each : wanted)
    if (std::isfinite(each)) largest = std::max(largest, std::abs(each));
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_TRUE((std::isnan(all[i]) && std::isnan(wanted[i])) || all[i] == wanted[i] ||
                std::abs(all[i] - wanted[i]) <= slack * tolerance(found.dtype()) * largest)
        << what << ": element " << i << " of " << all.size() << " is " << all[i] << ", not " << wanted[i];
}

/// Lines along a dimension, as [outer, length, inner].
Shape around(const Shape& shape, int dim) {
  Shape result{1, shape[dim], 1};
  for (int i = 0; i < shape.size(); ++i)
    if (i != dim) result[i < dim ? 0 : 2] *= shape[i];
  return result;
}
template <class F>
void each_line(const Shape& shape, int dim, F&& f) {
  const Shape s = around(shape, dim);
  for (std::int64_t outer = 0; outer < s[0]; ++outer)
    for (std::int64_t inner = 0; inner < s[2]; ++inner) {
      std::vector<std::size_t> line;
      for (std::int64_t i = 0; i < s[1]; ++i)
        line.push_back(static_cast<std::size_t>((outer * s[1] + i) * s[2] + inner));
      f(line);
    }
}

Numbers log_softmax(const Numbers& x, const Shape& shape, int dim) {
  Numbers y(x.size());
  each_line(shape, dim, [&](const std::vector<std::size_t>& line) {
    double largest = -INFINITY, sum = 0;
    for (const std::size_t at : line) largest = std::max(largest, x[at]);
    for (const std::size_t at : line) sum += std::exp(x[at] - largest);
    for (const std::size_t at : line) y[at] = x[at] - largest - std::log(sum);
  });
  return y;
}

void expect_softmax(const Value& x, int dim, const std::string& what) {
  const Numbers wanted = log_softmax(x.data().to_vector<double>(), x.shape(), dim);
  Numbers powers;
  for (const double each : wanted) powers.push_back(std::exp(each));
  expect_near(emit(op::Softmax{dim, true}, {x}), wanted, "log_softmax " + what);
  expect_near(emit(op::Softmax{dim, false}, {x}), powers, "softmax " + what);
}

TEST(GpuSoftmax, TakesRowsOfAnyLength) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (const std::int64_t length :
         {1, 2, 5, 8, 31, 32, 33, 100, 128, 129, 256, 1000, 1024, 1025, 1032, 4096, 4100, 8200, 16384, 20000}) {
      if (length > 1100 && dtype == DType::F16) continue;
      const std::int64_t rows = length > 1000 ? 2 : 5;
      expect_softmax(on_gpu(numbers({rows, length}, dtype, 1)), 1, text(dtype, " of ", length));
    }
}

TEST(GpuSoftmax, GoesAlongAnyDimensionOfWhateverLiesAnywhere) {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    const Value x = on_gpu(numbers({6, 35, 8}, dtype, 2));
    for (const Value& each :
         {x, permute(x, {2, 0, 1}), flip(x, {2}), narrow(x, 1, 3, 20), expand(narrow(x, 0, 1, 1), {3, 35, 8})})
      for (int dim = 0; dim < 3; ++dim) expect_softmax(each, dim, text(dtype, " ", each.shape(), " along ", dim));
  }
}

TEST(GpuSoftmax, LeavesOutWhatIsMinusInfinityAndIsSafeForLargeNumbers) {
  for (const Shape& shape : {Shape{3, 40}, Shape{3, 20000}, Shape{40, 3}}) {
    Numbers all = numbers(shape, DType::F32, 3, 1e4, 50).to_vector<double>();
    for (std::size_t i = 0; i < all.size(); i += 3) all[i] = -INFINITY;
    const Value x = on_gpu(TensorData::of<double>(shape, std::span<const double>(all)).to(DType::F32));
    const int dim = shape[0] == 3 ? 1 : 0;
    const Numbers logs = log_softmax(x.data().to_vector<double>(), shape, dim);
    Numbers powers;
    for (const double each : logs) powers.push_back(std::exp(each));
    expect_near(emit(op::Softmax{dim}, {x}), powers, text("softmax of ", shape));
  }
}

TEST(GpuSoftmax, OfRowsWithoutAMeaningIsNaN) {
  for (const Shape& shape : {Shape{2, 40}, Shape{2, 20000}})
    for (const double number : {std::nan(""), HUGE_VAL}) {
      Numbers all(places(shape), 1.0);
      all[7] = number;
      std::fill(all.begin() + shape[1], all.end(), -INFINITY);
      const Numbers found = emit(op::Softmax{1}, {on_gpu(TensorData::of<double>(shape, std::span<const double>(all)))})
                                .data()
                                .to_vector<double>();
      for (const double each : found) ASSERT_TRUE(std::isnan(each)) << shape[1] << " with " << number;
    }
}

Value losses_of(const Value& logits, const Value& targets) {
  return emit_all(op::CrossEntropy{logits.dtype()}, {logits, targets})[op::CrossEntropy::losses];
}

TEST(GpuCrossEntropy, IsMinusTheLogarithmOfTheSoftmax) {
  for (const DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (const std::int64_t classes : {1, 3, 10, 33, 1000, 20000}) {
      const Shape shape{classes > 1000 ? 2 : 70, classes};
      const Value logits = on_gpu(numbers(shape, dtype, 4, 0, 8));
      const TensorData targets = indices({shape[0]}, classes, 5, DType::I32);
      const Numbers logs = log_softmax(logits.data().to_vector<double>(), shape, 1),
                    chosen = targets.to_vector<double>();
      Numbers wanted;
      for (std::int64_t i = 0; i < shape[0]; ++i)
        wanted.push_back(-logs[static_cast<std::size_t>(i * classes) +
                               static_cast<std::size_t>(chosen[static_cast<std::size_t>(i)])]);
      expect_near(losses_of(logits, on_gpu(targets)), wanted, text(dtype, ", ", classes, " classes"));
      const Value columns = permute(on_gpu(permute(logits, {1, 0}).data()), {1, 0});
      expect_near(losses_of(columns, on_gpu(targets)), wanted, text(dtype, " columns, ", classes));
    }
}

TEST(GpuCrossEntropy, TellsOfTheFirstTargetThatIsNoClass) {
  for (const std::int64_t wrong : {-1, 5, 1 << 30}) {
    std::vector<std::int64_t> targets(300, 4);
    targets[100] = wrong;
    targets[200] = 77;
    const Value losses = losses_of(on_gpu(numbers({300, 5}, DType::F32, 1)),
                                   on_gpu(TensorData::of<std::int64_t>({300}, std::span<const std::int64_t>(targets))));
    try {
      losses.data();
      FAIL() << wrong;
    } catch (const IndexError& error) {
      EXPECT_NE(std::string(error.what()).find(text("cross_entropy: target ", wrong, " is out of range for 5 classes")),
                std::string::npos)
          << error.what();
    }
  }
}

/// Norms of runs of elements, by their definition: y = n * weight + bias, and the gradients of a g for y.
struct Norm {
  Numbers y, dx, dweight, dbias, mean, variance;
};
/// `group` and `channel` of element i.
template <class Group, class Channel>
Norm norm(const Numbers& x, const Numbers& g, const Numbers& weight, const Numbers& bias, bool centred,
          std::size_t groups, Group group, Channel channel) {
  constexpr double kEpsilon = 1e-3;
  Numbers count(groups), mean(groups), variance(groups), along(groups), constant(groups);
  Norm made{Numbers(x.size()), Numbers(x.size()), Numbers(weight.size()), Numbers(weight.size()), {}, {}};
  for (std::size_t i = 0; i < x.size(); ++i) count[group(i)] += 1;
  if (centred)
    for (std::size_t i = 0; i < x.size(); ++i) mean[group(i)] += x[i] / count[group(i)];
  for (std::size_t i = 0; i < x.size(); ++i) variance[group(i)] += std::pow(x[i] - mean[group(i)], 2) / count[group(i)];
  const auto normal = [&](std::size_t i) { return (x[i] - mean[group(i)]) / std::sqrt(variance[group(i)] + kEpsilon); };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = channel(i);
    made.y[i] = normal(i) * weight[c] + bias[c];
    made.dweight[c] += g[i] * normal(i);
    made.dbias[c] += g[i];
    along[group(i)] += g[i] * weight[c] * normal(i) / count[group(i)];
    constant[group(i)] += centred ? g[i] * weight[c] / count[group(i)] : 0;
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    made.dx[i] = (g[i] * weight[channel(i)] - constant[group(i)] - normal(i) * along[group(i)]) /
                 std::sqrt(variance[group(i)] + kEpsilon);
  made.mean = mean;
  made.variance = variance;
  return made;
}

void expect_layer_norm(DType dtype, std::int64_t rows, std::int64_t width) {
  const TensorData x = numbers({rows, width}, dtype, 1, 3), g = numbers({rows, width}, dtype, 2);
  const TensorData weight = numbers({width}, dtype, 3, 1), bias = numbers({width}, dtype, 4);
  const auto size = static_cast<std::size_t>(width);
  const Norm wanted = norm(
      x.to_vector<double>(), g.to_vector<double>(), weight.to_vector<double>(), bias.to_vector<double>(), true,
      static_cast<std::size_t>(rows), [&](std::size_t i) { return i / size; }, [&](std::size_t i) { return i % size; });
  const std::string what = text(dtype, " of ", rows, " rows of ", width);
  const Value y = emit(op::LayerNorm{}, {on_gpu(x), on_gpu(weight), on_gpu(bias), 1e-3});
  expect_near(y, wanted.y, "layer_norm " + what, 2);
  const Values found = emit_all(op::GroupNormGrad{1}, {on_gpu(x), on_gpu(weight), 1e-3, on_gpu(g)});
  expect_near(found[0], wanted.dx, "dx " + what, 4);
  expect_near(found[1], wanted.dweight, "dweight " + what, 4);
  expect_near(found[2], wanted.dbias, "dbias " + what, 2);
}

TEST(GpuLayerNorm, AndItsGradientFollowTheirDefinition) {
  for (const DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (const std::int64_t width : {1, 3, 8, 33, 100, 512, 1000, 1028, 4096, 9000, 17000})
      if (width < 5000 || dtype == DType::F32) expect_layer_norm(dtype, width > 1000 ? 2 : 7, width);
}

TEST(GpuLayerNorm, OfManyRowsHasItsGradientInOnePass) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16})
    // More rows than there are teams of threads, and no multiple of that.
    for (const auto& [rows, width] :
         {std::pair{1100, 33}, std::pair{2100, 64}, std::pair{300, 300}, std::pair{261, 1030}})
      expect_layer_norm(dtype, rows, width);
}

TEST(GpuGroupNorm, AndItsGradientFollowTheirDefinition) {
  struct Case {
    std::int64_t batch, groups, own, inner;
  };
  for (const DType dtype : {DType::F64, DType::F32, DType::F16})
    for (const Case c : {Case{2, 2, 3, 1},
                         {3, 2, 4, 8},
                         {2, 3, 2, 15},
                         {2, 1, 5, 64},
                         {1, 2, 8, 1030},
                         {2, 1, 3, 7000},
                         {3, 4, 1, 50}})
      for (const bool centred : {true, false})
        for (const bool weighted : {true, false}) {
          if (dtype == DType::F16 && c.inner > 1000) continue;
          const std::int64_t channels = c.groups * c.own;
          const Shape shape{c.batch, channels, c.inner};
          const TensorData x = numbers(shape, dtype, 1, 1), g = numbers(shape, dtype, 2);
          const TensorData weight = numbers({channels}, dtype, 3, 1), bias = numbers({channels}, dtype, 4);
          const auto length = static_cast<std::size_t>(c.own * c.inner), inner = static_cast<std::size_t>(c.inner);
          const Norm wanted = norm(
              x.to_vector<double>(), g.to_vector<double>(),
              weighted ? weight.to_vector<double>() : Numbers(static_cast<std::size_t>(channels), 1),
              weighted ? bias.to_vector<double>() : Numbers(static_cast<std::size_t>(channels)), centred,
              static_cast<std::size_t>(c.batch * c.groups), [&](std::size_t i) { return i / length; },
              [&](std::size_t i) { return i / inner % static_cast<std::size_t>(channels); });
          const Value w = weighted ? on_gpu(weight) : Value(), b = weighted ? on_gpu(bias) : Value();
          const std::string what = text(dtype, " ", shape, centred ? "" : ", not centred");
          expect_near(emit(op::GroupNorm{c.groups, centred}, {on_gpu(x), w, b, 1e-3}), wanted.y, "group_norm " + what,
                      2);
          const Values found = emit_all(op::GroupNormGrad{c.groups, centred}, {on_gpu(x), w, 1e-3, on_gpu(g)});
          expect_near(found[0], wanted.dx, "dx " + what, 4);
          expect_near(found[1], wanted.dweight, "dweight " + what, 4);
          expect_near(found[2], wanted.dbias, "dbias " + what, 2);
        }
}

TEST(GpuBatchNorm, AndItsGradientFollowTheirDefinition) {
  for (const DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (const Shape& shape : {Shape{40, 3}, Shape{4, 5, 9}, Shape{3, 4, 8, 8}, Shape{2100, 4}, Shape{2, 2, 9000}})
      for (const bool last : {false, true}) {
        const TensorData x = numbers(shape, dtype, 1, 5), g = numbers(shape, dtype, 2);
        const auto channels = static_cast<std::size_t>(shape[1]);
        const TensorData weight = numbers({shape[1]}, dtype, 3, 1), bias = numbers({shape[1]}, dtype, 4);
        const std::size_t inner = x.to_vector<double>().size() / static_cast<std::size_t>(shape[0]) / channels;
        const auto channel = [&](std::size_t i) { return i / inner % channels; };
        const Norm wanted = norm(x.to_vector<double>(), g.to_vector<double>(), weight.to_vector<double>(),
                                 bias.to_vector<double>(), true, channels, channel, channel);
        // Channels last: as the same elements in another order.
        Dims to{0}, back{0, shape.size() - 1};
        for (int dim = 2; dim < shape.size(); ++dim) to.push_back(dim), back.push_back(dim - 1);
        to.push_back(1);
        const auto laid = [&](const TensorData& data) {
          return last ? permute(on_gpu(permute(on_gpu(data), to).data()), back) : on_gpu(data);
        };
        const std::string what = text(dtype, " ", shape, last ? ", channels last" : "");
        const Values y = emit_all(op::BatchNorm{}, {laid(x), on_gpu(weight), on_gpu(bias), 1e-3});
        expect_near(y[0], wanted.y, "batch_norm " + what, 2);
        expect_near(y[1], wanted.mean, "mean " + what);
        expect_near(y[2], wanted.variance, "variance " + what);
        const Values found = emit_all(op::BatchNormGrad{}, {laid(x), on_gpu(weight), 1e-3, y[1], y[2], laid(g)});
        expect_near(found[0], wanted.dx, "dx " + what, 4);
        expect_near(found[1], wanted.dweight, "dweight " + what, 4);
        expect_near(found[2], wanted.dbias, "dbias " + what, 2);
      }
}

TEST(GpuNorms, TellSmallDifferencesFarFromZero) {
  for (const std::int64_t width : {40, 1000, 20000}) {
    const TensorData x = numbers({2, width}, DType::F32, 1, 10000, 0.5);
    const Numbers ones(static_cast<std::size_t>(width), 1), zeros(static_cast<std::size_t>(width));
    const auto size = static_cast<std::size_t>(width);
    const auto group = [&](std::size_t i) { return i / size; };
    const Norm rows = norm(x.to_vector<double>(), x.to_vector<double>(), ones, zeros, true, 2, group,
                           [&](std::size_t i) { return i % size; });
    const Value weight = on_gpu(TensorData::of<double>({width}, std::span<const double>(ones)).to(DType::F32));
    expect_near(emit(op::LayerNorm{}, {on_gpu(x), weight, weight * 0.0, 1e-3}), rows.y, text("layer_norm of ", width),
                4);
    const Value channels = reshape(on_gpu(x), {1, 2, width});
    expect_near(emit_all(op::BatchNorm{}, {channels, Value(), Value(), 1e-3})[0], rows.y, text("batch_norm of ", width),
                4);
    const Value same = full({1, 2, width}, 10000.37, simulated(), DType::F32);
    for (const Value& y : {emit_all(op::BatchNorm{}, {same, Value(), Value(), 1e-3})[0],
                           emit(op::LayerNorm{}, {same, weight, weight * 0.0, 1e-3})})
      for (const double each : y.data().to_vector<double>()) ASSERT_EQ(each, 0) << width;
  }
}

}  // namespace
}  // namespace kiln::test
