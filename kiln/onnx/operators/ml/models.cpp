// ai.onnx.ml: linear models and support vector machines.
#include <algorithm>
#include <cmath>

#include "kiln/core/size.hpp"
#include "kiln/onnx/operators/ml/scores.hpp"
#include "kiln/ops/special/special.hpp"

namespace kiln::onnx {

Value post_transform(const Call& c, const Value& scores, const std::string& how) {
  if (how == "NONE") return scores;
  if (how == "SOFTMAX") return softmax(scores, -1);
  if (how == "LOGISTIC") return sigmoid(scores);
  if (how == "PROBIT") return of_type(erfinv(scores * 2 - 1) * 1.4142135623730951, scores.dtype());
  c.check(how == "SOFTMAX_ZERO", "post_transform '", how, "' is unknown");
  const Value zero = eq(scores, 0), top = max(scores, {scores.rank() - 1}, true);
  const Value powers = where(zero, 0, exp(scores - top)), all = sum(powers, {scores.rank() - 1}, true);
  return where(eq(all, 0), 0, powers / all);
}

Value pair_of(const Value& score, bool is_probability) {
  const Value both[] = {is_probability ? 1 - score : neg(score), score};
  return cat(both, 1);
}

Datum labels_of_rows(const Call& c, const Value& scores, std::string_view integers) {
  const Strings words = c.strings("classlabels_strings");
  const Ints numbers = c.ints(integers);
  const auto count = static_cast<std::int64_t>(words.empty() ? numbers.size() : words.size());
  c.check(count > 0 && (scores.dim(1) <= count || scores.dim(1) == 1), scores.dim(1), " scores and ", count, " labels");
  Value place = scores.dim(1) > 1 ? argmax(scores, 1) : cast(gt(reshape(scores, {scores.dim(0)}), 0), DType::I64);
  if (scores.dim(1) == 1 && count == 1) place = zeros_like(place);
  if (!words.empty()) return {place, std::make_shared<Strings>(words)};
  return select(from_ints(numbers, c.device()), 0, place);
}

namespace {

Value vector_of(const Call& c, const std::vector<float>& list) {
  return from_data(TensorData::of<float>({static_cast<std::int64_t>(list.size())}, list), c.device());
}
Value rows_of(const Call& c) {
  const Value x = of_type(c[0], DType::F32);
  return x.rank() == 1 ? unsqueeze(x, 0) : x;
}

// x [rows, features] times coefficients [outputs, features], plus intercepts.
Value linear_scores(const Call& c, const Value& x, std::int64_t outputs, bool may_be_more = false) {
  std::vector<float> weights = c.floats("coefficients");
  const std::vector<float> biases = c.floats("intercepts");
  const auto given = static_cast<std::int64_t>(weights.size());
  if (may_be_more && outputs > 0 && given / outputs > x.dim(1))
    weights.resize(static_cast<std::size_t>(outputs * x.dim(1)));
  c.check(outputs > 0 && static_cast<std::int64_t>(weights.size()) == multiply_sizes(c.node.op, outputs, x.dim(1)),
          weights.size(), " coefficients for ", outputs, " outputs of ", x.dim(1), " features");
  Value scores = matmul(x, transpose(reshape(vector_of(c, weights), {outputs, x.dim(1)})));
  c.check(biases.empty() || static_cast<std::int64_t>(biases.size()) == outputs || biases.size() == 1, biases.size(),
          " intercepts");
  if (!biases.empty()) scores = scores + vector_of(c, biases);
  return scores;
}

Results linear_regressor(Call& c) {
  return post_transform(c, linear_scores(c, rows_of(c), c.i("targets", 1)), c.s("post_transform", "NONE"));
}

Results linear_classifier(Call& c) {
  const Value x = rows_of(c);
  c.check(x.dim(1) > 0, "x has no features");
  const std::string how = c.s("post_transform", "NONE");
  // There are as many classes as intercepts, where these are several. ONNX Runtime ignores further coefficients.
  const auto intercepts = static_cast<std::int64_t>(c.floats("intercepts").size());
  const auto coefficients = static_cast<std::int64_t>(c.floats("coefficients").size());
  Value scores = linear_scores(c, x, intercepts > 1 ? intercepts : coefficients / x.dim(1), true);
  const Datum labels = labels_of_rows(c, scores, "classlabels_ints");
  const std::size_t count = c.strings("classlabels_strings").size() + c.ints("classlabels_ints").size();
  if (scores.dim(1) == 1 && count == 2) {  // one score tells two classes apart
    return {labels, post_transform(c, pair_of(scores, how == "NONE" || how == "PROBIT"), how)};
  }
  return {labels, post_transform(c, scores, how)};
}

// The kernel of every row of x with every support vector: [rows, vectors].
Value kernels(const Call& c, const Value& x, const Value& vectors) {
  const std::vector<float> params = c.floats("kernel_params");
  const auto param = [&](std::size_t i) { return i < params.size() ? static_cast<double>(params[i]) : 0.0; };
  const std::string kind = c.s("kernel_type", "LINEAR");
  const Value products = matmul(x, transpose(vectors));
  if (kind == "LINEAR") return products;
  if (kind == "POLY") return pow(products * param(0) + param(1), param(2));
  if (kind == "SIGMOID") return tanh(products * param(0) + param(1));
  c.check(kind == "RBF", "kernel_type '", kind, "' is unknown");
  const Value apart = sum(square(unsqueeze(x, 1) - unsqueeze(vectors, 0)), {2});
  return exp(apart * -param(0));
}

Results svm_regressor(Call& c) {
  const Value x = rows_of(c);
  const std::vector<float> weights = c.floats("coefficients"), rho = c.floats("rho"),
                           vectors = c.floats("support_vectors");
  const std::int64_t count = c.i("n_supports", 0);
  c.check(!rho.empty(), "rho is missing");
  Value scores;
  if (count > 0) {
    c.check(static_cast<std::int64_t>(vectors.size()) == count * x.dim(1) &&
                static_cast<std::int64_t>(weights.size()) == count,
            vectors.size(), " numbers in ", count, " support vectors of ", x.dim(1));
    const Value k = kernels(c, x, reshape(vector_of(c, vectors), {count, x.dim(1)}));
    scores = matmul(k, reshape(vector_of(c, weights), {count, 1}));
  } else {
    c.check(static_cast<std::int64_t>(weights.size()) == x.dim(1), weights.size(), " coefficients for ", x.dim(1),
            " features");
    scores = kernels(c, x, reshape(vector_of(c, weights), {1, x.dim(1)}));
  }
  scores = scores + static_cast<double>(rho[0]);
  if (c.i("one_class", 0)) return where(gt(scores, 0), 1.0, -1.0) * ones_like(scores);
  return post_transform(c, scores, c.s("post_transform", "NONE"));
}

// Probabilities of classes from those of pairs, by T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability estimates for
// multi-class classification by pairwise coupling", 2004, algorithm 2.
std::vector<double> couple(const std::vector<double>& pairs, std::size_t n) {
  std::vector<double> q(n * n), p(n, 1.0 / static_cast<double>(n)), qp(n);
  for (std::size_t t = 0; t < n; ++t)
    for (std::size_t j = 0; j < n; ++j)
      if (j != t) {
        q[t * n + t] += pairs[j * n + t] * pairs[j * n + t];
        q[t * n + j] = -pairs[j * n + t] * pairs[t * n + j];
      }
  for (int round = 0; round < 100; ++round) {
    double pqp = 0, worst = 0;
    for (std::size_t t = 0; t < n; ++t) {
      qp[t] = 0;
      for (std::size_t j = 0; j < n; ++j) qp[t] += q[t * n + j] * p[j];
      pqp += p[t] * qp[t];
    }
    for (const double each : qp) worst = std::max(worst, std::abs(each - pqp));
    if (worst < 0.005 / static_cast<double>(n)) break;
    for (std::size_t t = 0; t < n; ++t) {
      const double change = (pqp - qp[t]) / q[t * n + t];
      p[t] += change;
      pqp = (pqp + change * (change * q[t * n + t] + 2 * qp[t])) / ((1 + change) * (1 + change));
      for (std::size_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + change * q[t * n + j]) / (1 + change);
        p[j] /= 1 + change;
      }
    }
  }
  return p;
}

// Classes decided one against one: a pair (i, j) of classes has the coefficients of i's vectors in row j - 1 and of j's in
// row i.
struct PairwiseSvm {
  std::vector<float> weights, rho, prob_a, prob_b;
  Ints per_class;  // the number of support vectors of each class
  std::size_t classes;
  std::int64_t count = 0;  // the number of all support vectors

  std::size_t pairs() const { return classes * (classes - 1) / 2; }
  bool has_probabilities() const { return prob_a.size() >= pairs() && prob_b.size() >= pairs() && pairs() > 0; }
  // The coefficients of class `line` times a row's kernels with the support vectors of class `of`, from `first` on.
  double sum(std::span<const double> k, std::int64_t first, std::size_t of, std::size_t line) const {
    double sum = 0;
    for (auto v = static_cast<std::size_t>(first); v < static_cast<std::size_t>(first + per_class[of]); ++v)
      sum += k[v] * static_cast<double>(weights[line * static_cast<std::size_t>(count) + v]);
    return sum;
  }
  double probability(std::size_t pair, double decision) const {
    const double f = static_cast<double>(prob_a[pair]) * decision + static_cast<double>(prob_b[pair]);
    return std::clamp(f >= 0 ? std::exp(-f) / (1 + std::exp(-f)) : 1 / (1 + std::exp(f)), 1e-7, 1 - 1e-7);
  }
};

// A row of scores from its kernels with all support vectors, and the class that most pairs vote for.
std::pair<std::vector<double>, std::int64_t> decide(const PairwiseSvm& svm, std::span<const double> k) {
  const std::size_t classes = svm.classes;
  std::vector<double> decisions, votes(classes), chances(classes * classes);
  std::int64_t first_i = 0;
  for (std::size_t i = 0; i < classes; first_i += svm.per_class[i++]) {
    std::int64_t first_j = first_i + svm.per_class[i];
    for (std::size_t j = i + 1; j < classes; first_j += svm.per_class[j++]) {
      const std::size_t pair = decisions.size();
      const double decision =
          static_cast<double>(svm.rho[pair]) + svm.sum(k, first_i, i, j - 1) + svm.sum(k, first_j, j, i);
      decisions.push_back(decision);
      ++votes[decision > 0 ? i : j];
      if (!svm.has_probabilities()) continue;
      chances[i * classes + j] = svm.probability(pair, decision);
      chances[j * classes + i] = 1 - chances[i * classes + j];
    }
  }
  const std::int64_t best = std::max_element(votes.begin(), votes.end()) - votes.begin();
  if (svm.has_probabilities()) return {couple(chances, classes), best};  // the votes decide all the same
  if (classes == 2) decisions.insert(decisions.begin(), -decisions[0]);
  return {decisions, best};
}

Results svm_classifier(Call& c) {
  const Value x = rows_of(c);
  const std::vector<float> vectors = c.floats("support_vectors");
  const Strings words = c.strings("classlabels_strings");
  PairwiseSvm svm{c.floats("coefficients"),    c.floats("rho"),
                  c.floats("prob_a"),          c.floats("prob_b"),
                  c.ints("vectors_per_class"), words.size() + c.ints("classlabels_ints").size()};
  const std::string how = c.s("post_transform", "NONE");
  if (vectors.empty()) {  // a linear model
    const Value scores = linear_scores(c, x, static_cast<std::int64_t>(svm.classes)) +
                         (svm.rho.empty() ? 0.0 : static_cast<double>(svm.rho[0]));
    return {labels_of_rows(c, scores, "classlabels_ints"), post_transform(c, scores, how)};
  }
  for (const std::int64_t each : svm.per_class) {
    c.check(each >= 0 && each <= static_cast<std::int64_t>(vectors.size()), "a class has ", each, " support vectors");
    svm.count += each;
  }
  c.check(svm.per_class.size() == svm.classes && svm.classes >= 2 &&
              static_cast<std::int64_t>(vectors.size()) == svm.count * x.dim(1) &&
              svm.weights.size() == static_cast<std::size_t>(svm.count) * (svm.classes - 1) &&
              svm.rho.size() >= svm.pairs(),
          vectors.size(), " numbers in ", svm.count, " support vectors, ", svm.weights.size(), " coefficients, ",
          svm.rho.size(), " values of rho for ", svm.classes, " classes");
  const Value k = kernels(c, x, reshape(vector_of(c, vectors), {svm.count, x.dim(1)}));
  const std::vector<double> numbers = k.data().to_vector<double>();
  const std::int64_t rows = x.dim(0);
  std::vector<float> scores;
  Ints best;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto count = static_cast<std::size_t>(svm.count);
    const auto [result, label] = decide(svm, std::span(numbers).subspan(static_cast<std::size_t>(row) * count, count));
    best.push_back(label);
    for (const double each : result) scores.push_back(static_cast<float>(each));
  }
  const auto columns = static_cast<std::int64_t>(rows ? scores.size() / static_cast<std::size_t>(rows) : svm.classes);
  const Value all = from_data(TensorData::of<float>({rows, columns}, scores), c.device()),
              indices = from_ints(best, c.device());
  const Datum labels = words.empty() ? Datum(select(from_ints(c.ints("classlabels_ints"), c.device()), 0, indices))
                                     : Datum(indices, std::make_shared<Strings>(words));
  return {labels, post_transform(c, all, how)};
}

constexpr OperatorRow kModelsRows[] = {
    {"LinearClassifier", 1, linear_classifier},
    {"LinearRegressor", 1, linear_regressor},
    {"SVMClassifier", 1, svm_classifier},
    {"SVMRegressor", 1, svm_regressor},
};

}  // namespace

std::span<const OperatorRow> models_rows() { return kModelsRows; }

}  // namespace kiln::onnx
