#include "kiln/train/metric/regression.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::metric {
namespace deviation {

double Absolute::of(double prediction, double target) { return std::abs(prediction - target); }
double Squared::of(double prediction, double target) { return (prediction - target) * (prediction - target); }
double RootSquared::of(double prediction, double target) { return Squared::of(prediction, target); }
double RootSquared::from_mean(double mean) { return std::sqrt(mean); }
double AbsolutePercentage::of(double prediction, double target) {
  return std::abs(prediction - target) / std::max(std::abs(target), std::numeric_limits<double>::epsilon());
}

}  // namespace deviation
namespace {

void require_same(std::string_view name, const Value& predictions, const Value& targets) {
  require<ShapeError>(predictions.shape() == targets.shape(), name, ": predictions ", predictions.shape(),
                      " and targets ", targets.shape(), " differ");
}

}  // namespace

double Perplexity::value() const { return std::exp(mean("perplexity", sum, count)); }

void add_deviations(std::string_view name, const Value& predictions, const Value& targets, ElementDeviation of,
                    Total& sum, Total& count) {
  require_same(name, predictions, targets);
  const auto said = predictions.data().to_vector<double>(), right = targets.data().to_vector<double>();
  for (std::size_t i = 0; i < said.size(); ++i) sum += of(said[i], right[i]);
  count += static_cast<double>(said.size());
}

void R2::add(const Value& predictions, const Value& truth) {
  require_same(kName, predictions, truth);
  const auto said = predictions.data().to_vector<double>(), right = truth.data().to_vector<double>();
  const std::int64_t columns = truth.rank() == 1 ? 1 : truth.dim(1);
  require<ArgumentError>(columns >= 1, "r2: targets of no outputs");
  for (std::size_t i = 0; i < said.size(); i += static_cast<std::size_t>(columns)) targets.add(&right[i], columns);
  for (std::size_t i = 0; i < said.size(); ++i)
    off.add(static_cast<std::int64_t>(i) % columns, deviation::Squared::of(said[i], right[i]));
}

double R2::value() const {
  mean(kName, 0, targets.count);
  require<ArgumentError>(targets.count >= 2, "r2: one item does not vary; there must be two");
  double sum = 0;
  for (std::size_t i = 0; i < targets.squares.size(); ++i) {
    const double spread = targets.squares[i], missed = off.at(static_cast<std::int64_t>(i));
    sum += spread > 0 ? 1 - missed / spread : missed == 0 ? 1 : 0;
  }
  return sum / static_cast<double>(targets.squares.size());
}

}  // namespace kiln::metric
