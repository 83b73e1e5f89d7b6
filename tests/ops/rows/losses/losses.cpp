// Losses of numbers, of distributions, and of how alike two things are.
#include "tests/ops/rows/losses/losses.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kiln::test {
namespace {

std::vector<OpCase> rows_of_numbers() {
  const Shape s{3, 4};
  const auto difference_row = [&](std::string name, Reduction reduction,
                                  std::function<Value(const Value&, const Value&, Reduction)> function,
                                  double (*loss)(double)) {
    return elementwise_row(
        std::move(name), {{s}, {s, -1.9, 2.1}}, reduction,
        [=](const Values& in) { return function(in[0], in[1], reduction); },
        [=](const std::vector<Array>& in, const Dims& i) { return loss(in[0](i) - in[1](i)); });
  };
  const auto square = [](double d) { return d * d; };
  return {
      difference_row("mse_loss", Reduction::Mean, mse_loss, square),
      difference_row("mse_loss_sum", Reduction::Sum, mse_loss, square),
      difference_row("mse_loss_none", Reduction::None, mse_loss, square),
      difference_row("mse_loss_batch_mean", Reduction::BatchMean, mse_loss, square),
      difference_row("l1_loss", Reduction::Mean, l1_loss, [](double d) { return std::abs(d); }),
      difference_row(
          "lp_loss", Reduction::Mean, [](const Value& x, const Value& t, Reduction r) { return lp_loss(x, t, 2.5, r); },
          [](double d) { return std::pow(std::abs(d), 2.5); }),
      difference_row(
          "lp_loss_1", Reduction::Sum, [](const Value& x, const Value& t, Reduction r) { return lp_loss(x, t, 1, r); },
          [](double d) { return std::abs(d); }),
      difference_row(
          "lp_loss_2", Reduction::None, [](const Value& x, const Value& t, Reduction r) { return lp_loss(x, t, 2, r); },
          square),
      difference_row(
          "smooth_l1_loss", Reduction::Mean,
          [](const Value& x, const Value& t, Reduction r) { return smooth_l1_loss(x, t, 0.7, r); },
          [](double d) { return std::abs(d) < 0.7 ? d * d / 1.4 : std::abs(d) - 0.35; }),
      difference_row(
          "smooth_l1_loss_without_beta", Reduction::Mean,
          [](const Value& x, const Value& t, Reduction r) { return smooth_l1_loss(x, t, 0, r); },
          [](double d) { return std::abs(d); }),
      difference_row(
          "huber_loss", Reduction::Mean,
          [](const Value& x, const Value& t, Reduction r) { return huber_loss(x, t, 0.7, r); },
          [](double d) { return std::abs(d) <= 0.7 ? d * d / 2 : 0.7 * (std::abs(d) - 0.35); }),
      elementwise_row(
          "reduced", {{s}}, Reduction::BatchMean, [](const Values& in) { return reduced(in[0], Reduction::BatchMean); },
          [](const std::vector<Array>& in, const Dims& i) { return in[0](i); }),
  };
}

std::vector<OpCase> rows_of_distributions() {
  const Shape s{3, 4};
  return {
      elementwise_row(
          "kl_div", {{s, -3, -0.1}, {s, 0.05, 1}}, Reduction::BatchMean,
          [](const Values& in) { return kl_div(in[0], in[1]); },
          [](const std::vector<Array>& in, const Dims& i) { return in[1](i) * (std::log(in[1](i)) - in[0](i)); }),
      elementwise_row(
          "kl_div_log_target", {{s, -3, -0.1}, {s, -3, -0.1}}, Reduction::Sum,
          [](const Values& in) { return kl_div(in[0], in[1], true, Reduction::Sum); },
          [](const std::vector<Array>& in, const Dims& i) { return std::exp(in[1](i)) * (in[1](i) - in[0](i)); }),
      elementwise_row(
          "poisson_nll_loss", {{s}, {s, 0, 4}}, Reduction::Mean,
          [](const Values& in) { return poisson_nll_loss(in[0], in[1]); },
          [](const std::vector<Array>& in, const Dims& i) { return std::exp(in[0](i)) - in[1](i) * in[0](i); }),
      elementwise_row(
          "poisson_nll_loss_of_rates", {{s, 0.1, 3}, {s, 0, 4}}, Reduction::Mean,
          [](const Values& in) { return poisson_nll_loss(in[0], in[1], {.log_input = false, .epsilon = 1e-3}); },
          [](const std::vector<Array>& in, const Dims& i) { return in[0](i) - in[1](i) * std::log(in[0](i) + 1e-3); }),
      elementwise_row(
          "poisson_nll_loss_full", {{s}, {s, 0, 4.1}}, Reduction::None,
          [](const Values& in) { return poisson_nll_loss(in[0], in[1], {.full = true}, Reduction::None); },
          [](const std::vector<Array>& in, const Dims& i) {
            const double t = in[1](i);
            const double stirling = t * std::log(t) - t + std::log(2 * std::numbers::pi * t) / 2;
            return std::exp(in[0](i)) - t * in[0](i) + (t > 1 ? stirling : 0);
          }),
      elementwise_row(
          "gaussian_nll_loss", {{s}, {s}, {s, 0.3, 2}}, Reduction::Mean,
          [](const Values& in) { return gaussian_nll_loss(in[0], in[1], in[2]); },
          [](const std::vector<Array>& in, const Dims& i) {
            const double d = in[0](i) - in[1](i);
            return (std::log(in[2](i)) + d * d / in[2](i)) / 2;
          }),
      elementwise_row(
          "gaussian_nll_loss_full", {{s}, {s}, {{3, 1}, 0.3, 2}}, Reduction::Sum,
          [](const Values& in) {
            return gaussian_nll_loss(in[0], in[1], in[2], {.full = true, .epsilon = 0.9}, Reduction::Sum);
          },
          [](const std::vector<Array>& in, const Dims& i) {
            const double d = in[0](i) - in[1](i), v = std::max(in[2]({i[0], 0}), 0.9);
            return (std::log(v) + d * d / v + std::log(2 * std::numbers::pi)) / 2;
          }),
  };
}

double sign_of(const Array& flags, const Dims& i) { return flags(i) != 0 ? 1 : -1; }
/// 1 or -1 of a mask.
Value signs(const Value& flags) { return cast(flags, DType::I64) * 2 - 1; }

std::vector<OpCase> rows_of_similarity() {
  const Shape s{3, 4};
  const OperandSpec sides{s, 0, 1, OperandSpec::Flag};
  const auto distance = [](const Array& a, const Array& b, std::int64_t row, double p) {
    double total = 0;
    for (std::int64_t j = 0; j < 4; ++j) total += std::pow(std::abs(a({row, j}) - b({row, j}) + 1e-6), p);
    return std::pow(total, 1 / p);
  };
  const auto triplet_row = [=](std::string name, const TripletMarginOptions& options, Reduction reduction) {
    OpCase row{.name = std::move(name), .operands = {{s}, {s, -1, 3}, {s, -3, 1}}, .function = {}, .meaning = {}};
    row.function = [=](const Values& in) {
      return Values{triplet_margin_loss(in[0], in[1], in[2], options, reduction)};
    };
    row.meaning = [=](const std::vector<Array>& in) {
      return reduced({3}, reduction, [&](const Dims& i) {
        double far = distance(in[0], in[2], i[0], options.p);
        if (options.swap) far = std::min(far, distance(in[1], in[2], i[0], options.p));
        return std::max(0.0, distance(in[0], in[1], i[0], options.p) - far + options.margin);
      });
    };
    row.tolerance = 4;
    return row;
  };
  return {
      elementwise_row(
          "hinge_embedding_loss", {{s}, sides}, Reduction::Mean,
          [](const Values& in) { return hinge_embedding_loss(in[0], signs(in[1]), 0.83); },
          [](const std::vector<Array>& in, const Dims& i) {
            return sign_of(in[1], i) > 0 ? in[0](i) : std::max(0.0, 0.83 - in[0](i));
          }),
      elementwise_row(
          "margin_ranking_loss", {{s}, {s, -1.9, 2.1}, sides}, Reduction::Mean,
          [](const Values& in) { return margin_ranking_loss(in[0], in[1], signs(in[2]), 0.53); },
          [](const std::vector<Array>& in, const Dims& i) {
            return std::max(0.0, 0.53 - sign_of(in[2], i) * (in[0](i) - in[1](i)));
          }),
      elementwise_row(
          "soft_margin_loss", {{s}, sides}, Reduction::Mean,
          [](const Values& in) { return soft_margin_loss(in[0], signs(in[1])); },
          [](const std::vector<Array>& in, const Dims& i) {
            return std::log(1 + std::exp(-sign_of(in[1], i) * in[0](i)));
          }),
      triplet_row("triplet_margin_loss", {}, Reduction::Mean),
      triplet_row("triplet_margin_loss_1", {.margin = 2, .p = 1}, Reduction::Sum),
      triplet_row("triplet_margin_loss_3_swap", {.margin = 1.5, .p = 3, .swap = true}, Reduction::None),
      {.name = "cosine_embedding_loss",
       .operands = {{s}, {s, -1, 2}, {{3}, 0, 1, OperandSpec::Flag}},
       .function = [](const Values& in) { return Values{cosine_embedding_loss(in[0], in[1], signs(in[2]), -0.4)}; },
       .meaning =
           [](const std::vector<Array>& in) {
             return reduced({3}, Reduction::Mean, [&](const Dims& i) {
               double ab = 0, aa = 0, bb = 0;
               for (std::int64_t j = 0; j < 4; ++j) {
                 const double a = in[0]({i[0], j}), b = in[1]({i[0], j});
                 ab += a * b, aa += a * a, bb += b * b;
               }
               const double cosine = ab / std::sqrt(aa * bb);
               return sign_of(in[2], i) > 0 ? 1 - cosine : std::max(0.0, cosine + 0.4);
             });
           },
       .tolerance = 8},
      {.name = "gram_matrix",
       .operands = {{{2, 3, 2, 2}}},
       .function = [](const Values& in) { return Values{gram_matrix(in[0])}; },
       .meaning =
           [](const std::vector<Array>& in) {
             Array result({2, 3, 3});
             each_index({2, 3, 3, 2, 2}, [&](const Dims& i) {
               result({i[0], i[1], i[2]}) +=
                   in[0]({i[0], i[1], i[3], i[4]}) * in[0]({i[0], i[2], i[3], i[4]}) / (3 * 2 * 2);
             });
             return std::vector<Array>{result};
           },
       .tolerance = 2},
      {.name = "gram_matrix_loss",
       .operands = {{{1, 2, 3}}, {{1, 2, 3}}},
       .function = [](const Values& in) { return Values{gram_matrix_loss(in[0], in[1])}; },
       .meaning =
           [](const std::vector<Array>& in) {
             return reduced({2, 2}, Reduction::Mean, [&](const Dims& i) {
               double difference = 0;
               for (std::int64_t p = 0; p < 3; ++p)
                 difference +=
                     (in[0]({0, i[0], p}) * in[0]({0, i[1], p}) - in[1]({0, i[0], p}) * in[1]({0, i[1], p})) / 6;
               return difference * difference;
             });
           },
       .tolerance = 4},
  };
}

// ---- classes --------------------------------------------------------------------------------------------------------

const Family kNumbers(&rows_of_numbers), kDistributions(&rows_of_distributions), kSimilarity(&rows_of_similarity);

}  // namespace
}  // namespace kiln::test
