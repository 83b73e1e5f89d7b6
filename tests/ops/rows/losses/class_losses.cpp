// Losses of classes and of yes and no, and where their formulas break.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "tests/ops/rows/losses/losses.hpp"

namespace kiln::test {
namespace {

/// logits [batch, classes, sizes...] at one target: log softmax.
double log_share(const Array& logits, Dims i, std::int64_t c) {
  double total = 0;
  i.insert(1, 0);
  for (i[1] = 0; i[1] < logits.shape[1]; ++i[1]) total += std::exp(logits(i));
  i[1] = c;
  return logits(i) - std::log(total);
}

struct ClassCase {
  Shape logits;
  double smoothing = 0;
  bool weighted = false;
  std::optional<std::int64_t> ignore = {};
  Reduction reduction = Reduction::Mean;
};
Shape targets_of(const Shape& logits) {
  Shape shape = logits;
  shape.erase(1);
  return shape;
}
/// The mean divides by the weights of the targets that count.
std::vector<Array> weighted_mean(const ClassCase& c, const std::function<double(const Dims&)>& loss,
                                 const std::function<double(const Dims&)>& weight) {
  std::vector<Array> result = reduced(targets_of(c.logits), c.reduction, loss);
  if (c.reduction != Reduction::Mean) return result;
  double total = 0, weights = 0;
  each_index(targets_of(c.logits), [&](const Dims& i) { total += loss(i), weights += weight(i); });
  return {Array({}, total / weights)};
}

/// Of logits, targets and, where there are some, weights; without function and meaning.
OpCase row_of(std::string name, const ClassCase& c) {
  const std::int64_t classes = c.logits[1];
  OpCase row{.name = std::move(name),
             .operands = {{c.logits}, {targets_of(c.logits), 0, static_cast<double>(classes), OperandSpec::Index}},
             .function = {},
             .meaning = {}};
  if (c.weighted) row.operands.push_back({{classes}, 0.5, 2});
  return row;
}

OpCase cross_entropy_row(std::string name, const ClassCase& c) {
  const std::int64_t classes = c.logits[1];
  OpCase row = row_of(std::move(name), c);
  row.function = [=](const Values& in) {
    return Values{cross_entropy(
        in[0], in[1], {.weights = c.weighted ? in[2] : Value(), .ignore = c.ignore, .label_smoothing = c.smoothing},
        c.reduction)};
  };
  row.meaning = [=](const std::vector<Array>& in) {
    const auto weight = [&](std::int64_t k) { return c.weighted ? in[2]({k}) : 1; };
    const auto target = [&](const Dims& i) { return static_cast<std::int64_t>(in[1](i)); };
    const auto ignored = [&](const Dims& i) { return c.ignore && target(i) == *c.ignore; };
    return weighted_mean(
        c,
        [&](const Dims& i) {
          if (ignored(i)) return 0.0;
          double loss = -(1 - c.smoothing) * weight(target(i)) * log_share(in[0], i, target(i));
          for (std::int64_t k = 0; k < classes; ++k)
            loss -= c.smoothing / static_cast<double>(classes) * weight(k) * log_share(in[0], i, k);
          return loss;
        },
        [&](const Dims& i) { return ignored(i) ? 0 : weight(target(i)); });
  };
  row.tolerance = 4;
  return row;
}

OpCase soft_cross_entropy_row(std::string name, const ClassCase& c) {
  const std::int64_t classes = c.logits[1];
  OpCase row{.name = std::move(name), .operands = {{c.logits}, {c.logits, 0, 1}}, .function = {}, .meaning = {}};
  if (c.weighted) row.operands.push_back({{classes}, 0.5, 2});
  row.function = [=](const Values& in) {
    return Values{cross_entropy(in[0], in[1], {.weights = c.weighted ? in[2] : Value(), .label_smoothing = c.smoothing},
                                c.reduction)};
  };
  row.meaning = [=](const std::vector<Array>& in) {
    return reduced(targets_of(c.logits), c.reduction, [&](const Dims& i) {
      double loss = 0;
      for (std::int64_t k = 0; k < classes; ++k) {
        Dims at = i;
        at.insert(1, k);
        const double share = in[1](at) * (1 - c.smoothing) + c.smoothing / static_cast<double>(classes);
        loss -= (c.weighted ? in[2]({k}) : 1) * share * log_share(in[0], i, k);
      }
      return loss;
    });
  };
  row.tolerance = 4;
  return row;
}

OpCase nll_row(std::string name, const ClassCase& c) {
  OpCase row = row_of(std::move(name), c);
  row.function = [=](const Values& in) {
    return Values{nll_loss(in[0], in[1], {.weights = c.weighted ? in[2] : Value(), .ignore = c.ignore}, c.reduction)};
  };
  row.meaning = [=](const std::vector<Array>& in) {
    const auto weight = [&](const Dims& i) {
      const auto target = static_cast<std::int64_t>(in[1](i));
      return c.ignore == target ? 0 : c.weighted ? in[2]({target}) : 1;
    };
    return weighted_mean(
        c,
        [&](const Dims& i) {
          Dims at = i;
          at.insert(1, static_cast<std::int64_t>(in[1](i)));
          return -weight(i) * in[0](at);
        },
        weight);
  };
  row.tolerance = 4;
  return row;
}

std::vector<OpCase> rows_of_classes() {
  const Shape flat{5, 3}, image{2, 3, 2, 2};
  const auto margin_row = [](std::string name, const MultiMarginOptions& options, bool weighted, Reduction reduction) {
    OpCase row{.name = std::move(name),
               .operands = {{{4, 3}}, {{4}, 0, 3, OperandSpec::Index}},
               .function = {},
               .meaning = {}};
    if (weighted) row.operands.push_back({{3}, 0.5, 2});
    row.function = [=](const Values& in) {
      MultiMarginOptions own = options;
      if (weighted) own.weights = in[2];
      return Values{multi_margin_loss(in[0], in[1], own, reduction)};
    };
    row.meaning = [=](const std::vector<Array>& in) {
      return reduced({4}, reduction, [&](const Dims& i) {
        const auto target = static_cast<std::int64_t>(in[1](i));
        double loss = 0;
        for (std::int64_t j = 0; j < 3; ++j)
          if (j != target)
            loss +=
                std::pow(std::max(0.0, options.margin - in[0]({i[0], target}) + in[0]({i[0], j})), options.power) / 3;
        return loss * (weighted ? in[2]({target}) : 1);
      });
    };
    row.tolerance = 4;
    return row;
  };
  return {
      cross_entropy_row("cross_entropy_mean", {flat}),
      cross_entropy_row("cross_entropy_sum", {flat, 0, false, {}, Reduction::Sum}),
      cross_entropy_row("cross_entropy_smoothed", {flat, 0.2}),
      cross_entropy_row("cross_entropy_weighted", {flat, 0, true}),
      cross_entropy_row("cross_entropy_ignoring", {flat, 0, false, 1}),
      cross_entropy_row("cross_entropy_everything", {flat, 0.1, true, 2}),
      cross_entropy_row("cross_entropy_of_images", {image, 0.1, true, 2}),
      cross_entropy_row("cross_entropy_of_images_unreduced", {image, 0, false, 0, Reduction::None}),
      soft_cross_entropy_row("cross_entropy_soft", {flat}),
      soft_cross_entropy_row("cross_entropy_soft_everything", {image, 0.3, true, {}, Reduction::Sum}),
      soft_cross_entropy_row("cross_entropy_soft_unreduced", {image, 0, false, {}, Reduction::None}),
      nll_row("nll_loss", {flat}),
      nll_row("nll_loss_weighted", {flat, 0, true}),
      nll_row("nll_loss_everything", {image, 0, true, 1}),
      nll_row("nll_loss_unreduced", {image, 0, false, {}, Reduction::None}),
      margin_row("multi_margin_loss", {}, false, Reduction::Mean),
      margin_row("multi_margin_loss_squared", {.margin = 0.7, .power = 2}, true, Reduction::Sum),
      margin_row("multi_margin_loss_power", {.margin = 5, .power = 2.5}, false, Reduction::None),
  };
}

std::vector<OpCase> binary_rows() {
  const Shape s{3, 4};
  const OperandSpec flags{s, 0, 1, OperandSpec::Flag}, shares{s, 0.05, 0.95};
  const auto logit_loss = [](double x, double t, double positive) {
    return positive * t * std::log(1 + std::exp(-x)) + (1 - t) * (x + std::log(1 + std::exp(-x)));
  };
  return {
      elementwise_row(
          "binary_cross_entropy", {shares, flags}, Reduction::Mean,
          [](const Values& in) { return binary_cross_entropy(in[0], in[1]); },
          [](const std::vector<Array>& in, const Dims& i) {
            return in[1](i) != 0 ? -std::log(in[0](i)) : -std::log(1 - in[0](i));
          }),
      elementwise_row(
          "binary_cross_entropy_weighted", {shares, shares, {{4}, 0.5, 2}}, Reduction::Sum,
          [](const Values& in) {
            return binary_cross_entropy(in[0], in[1], {.weights = in[2], .label_smoothing = 0.2}, Reduction::Sum);
          },
          [](const std::vector<Array>& in, const Dims& i) {
            const double t = in[1](i) * 0.8 + 0.1, p = in[0](i);
            return -in[2]({i[1]}) * (t * std::log(p) + (1 - t) * std::log(1 - p));
          }),
      elementwise_row(
          "binary_cross_entropy_with_logits", {{s}, flags}, Reduction::Mean,
          [](const Values& in) { return binary_cross_entropy_with_logits(in[0], in[1]); },
          [=](const std::vector<Array>& in, const Dims& i) { return logit_loss(in[0](i), in[1](i), 1); }),
      elementwise_row(
          "binary_cross_entropy_with_logits_everything", {{s}, shares, {{4}, 0.5, 2}, {{3, 1}, 0.5, 2}},
          Reduction::None,
          [](const Values& in) {
            return binary_cross_entropy_with_logits(
                in[0], in[1], {.weights = in[2], .positive_weights = in[3], .label_smoothing = 0.1}, Reduction::None);
          },
          [=](const std::vector<Array>& in, const Dims& i) {
            return in[2]({i[1]}) * logit_loss(in[0](i), in[1](i) * 0.9 + 0.05, in[3]({i[0], 0}));
          }),
      elementwise_row(
          "sigmoid_focal_loss", {{s}, flags}, Reduction::None,
          [](const Values& in) { return sigmoid_focal_loss(in[0], in[1], 0.25, 2, Reduction::None); },
          [](const std::vector<Array>& in, const Dims& i) {
            const double p = 1 / (1 + std::exp(-in[0](i)));
            return in[1](i) != 0 ? -0.25 * (1 - p) * (1 - p) * std::log(p) : -0.75 * p * p * std::log(1 - p);
          }),
      elementwise_row(
          "sigmoid_focal_loss_unweighted", {{s}, flags}, Reduction::Mean,
          [](const Values& in) { return sigmoid_focal_loss(in[0], in[1], -1, 1.5, Reduction::Mean); },
          [](const std::vector<Array>& in, const Dims& i) {
            const double p = 1 / (1 + std::exp(-in[0](i))), share = in[1](i) != 0 ? p : 1 - p;
            return -std::pow(1 - share, 1.5) * std::log(share);
          }),
      {.name = "dice_loss",
       .operands = {{{3, 2, 2}, 0, 1}, {{3, 2, 2}, 0, 1, OperandSpec::Flag}},
       .function = [](const Values& in) { return Values{dice_loss(in[0], in[1], 0.5)}; },
       .meaning =
           [](const std::vector<Array>& in) {
             return reduced({3}, Reduction::Mean, [&](const Dims& i) {
               double common = 0, all = 0;
               each_index({2, 2}, [&](const Dims& j) {
                 const double p = in[0]({i[0], j[0], j[1]}), t = in[1]({i[0], j[0], j[1]});
                 common += p * t, all += p + t;
               });
               return 1 - (2 * common + 0.5) / (all + 0.5);
             });
           },
       .tolerance = 4},
  };
}

const Family kClasses(&rows_of_classes), kBinary(&binary_rows);

// ---- where formulas break -------------------------------------------------------------------------------------------

Value list(const std::vector<float>& numbers, const Device& device = Device::cpu()) {
  return from_data(TensorData::of<float>({static_cast<std::int64_t>(numbers.size())}, numbers), device);
}
std::vector<float> floats(const Value& x) { return x.data().to_vector<float>(); }

TEST(BinaryCrossEntropy, BoundsLogarithmsAndKeepsGradientsFinite) {
  const Value p = list({0, 1, 0, 1}, Device::cpu().autodiff()).require_grad();
  const Value losses = binary_cross_entropy(p, list({1, 0, 0, 1}), {}, Reduction::None);
  EXPECT_EQ(floats(losses), (std::vector<float>{100, 100, 0, 0}));
  for (const float slope : floats(backward(sum(losses)).of(p))) EXPECT_TRUE(std::isfinite(slope));
  const Value logits = list({1000, -1000, 1000}, Device::cpu().autodiff()).require_grad();
  const Value certain = binary_cross_entropy_with_logits(logits, list({0, 1, 1}), {}, Reduction::None);
  EXPECT_EQ(floats(certain), (std::vector<float>{1000, 1000, 0}));
  EXPECT_EQ(floats(backward(sum(certain)).of(logits)), (std::vector<float>{1, -1, 0}));
}

TEST(KlDiv, TakesZeroTimesItsLogarithmAsZero) { EXPECT_EQ(kl_div(list({-1, -2}), list({0, 1})).item(), 1); }

TEST(CrossEntropy, OfTargetsThatAreAllIgnoredIsNan) {
  const Value logits = ones({2, 3}, Device::cpu());
  const Value targets = full({2}, -100, Device::cpu(), DType::I64);
  EXPECT_TRUE(std::isnan(cross_entropy(logits, targets, {.ignore = -100}).item()));
  EXPECT_EQ(cross_entropy(logits, targets, {.ignore = -100}, Reduction::Sum).item(), 0);
}

// Of long rows the softmax is made again from their sums, of short ones at once: values, gradients and gradients of
// those.
TEST(CrossEntropy, HasTheGradientsOfItsSoftmaxHoweverLongRowsAre) {
  for (const std::int64_t classes : {7, 20000})
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16}) {
      const Shape shape{2, classes};
      std::vector<double> numbers(static_cast<std::size_t>(2 * classes)), direction = numbers;
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = 100 + 4 * std::sin(1.7 * static_cast<double>(i)),
        direction[i] = std::cos(0.3 * static_cast<double>(i));
      const TensorData data = TensorData::of<double>(shape, std::span<const double>(numbers)).to(dtype);
      const std::vector<double> x = data.to_vector<double>();
      const std::vector<std::int64_t> chosen{classes - 3, 2};
      const Device device = Device::cpu().autodiff();
      const Value logits = from_data(data, device).require_grad();
      const Value targets = from_data(TensorData::of<std::int64_t>({2}, std::span<const std::int64_t>(chosen)), device);
      const Value v = from_data(TensorData::of<double>(shape, std::span<const double>(direction)), device);
      const Autocast autocast(DType::BF16);  // losses of halves are float32
      const Value losses = cross_entropy(logits, targets, {}, Reduction::None);
      EXPECT_EQ(losses.dtype(), dtype == DType::F64 ? DType::F64 : DType::F32);
      const Value first = grad(sum(losses), Values{logits}, {.create_graph = true})[0];
      const Value second = grad(sum(cast(first, DType::F64) * v), Values{logits})[0];

      const double bit = dtype == DType::F64 ? 1e-13 : dtype == DType::F32 ? 1e-5 : 4e-3;
      for (std::size_t row = 0; row < 2; ++row) {
        const auto begin = row * static_cast<std::size_t>(classes), end = begin + static_cast<std::size_t>(classes);
        double total = 0, mean = 0;
        for (std::size_t i = begin; i < end; ++i) total += std::exp(x[i] - 100);
        for (std::size_t i = begin; i < end; ++i) mean += std::exp(x[i] - 100) / total * direction[i];
        const std::size_t target = begin + static_cast<std::size_t>(chosen[row]);
        EXPECT_NEAR(losses.data().at(static_cast<std::int64_t>(row)), std::log(total) + 100 - x[target], 20 * bit);
        for (std::size_t i = begin; i < end; i += 1 + static_cast<std::size_t>(classes) / 50) {
          const double share = std::exp(x[i] - 100) / total;
          EXPECT_NEAR(first.data().at(static_cast<std::int64_t>(i)), share - (i == target),
                      bit * (share + (i == target)));
          EXPECT_NEAR(second.data().at(static_cast<std::int64_t>(i)), share * (direction[i] - mean), 4 * bit * share);
        }
      }
    }
}

}  // namespace
}  // namespace kiln::test
