#include "kiln/nn/prepare/scaler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln::nn {
namespace {

struct Measured {
  double shift = 0, scale = 1;
};

/// The value at a share of the sorted values, between two of them by their distance.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1), below = std::floor(at);
  const auto i = static_cast<std::size_t>(below);
  const double next = i + 1 < sorted.size() ? sorted[i + 1] : sorted[i];
  return sorted[i] + (at - below) * (next - sorted[i]);
}

Measured standard(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / count)};
}

Measured measure(Scaling kind, std::vector<double> values) {
  std::ranges::sort(values);
  switch (kind) {
    case Scaling::Standard: return standard(values);
    case Scaling::MinMax: return {values.front(), values.back() - values.front()};
    case Scaling::MaxAbs: return {0, std::max(std::abs(values.front()), std::abs(values.back()))};
    case Scaling::Robust: return {quantile(values, 0.5), quantile(values, 0.75) - quantile(values, 0.25)};
  }
  return {};
}

void require_columns(const Scaler& scaler, const Value& x) {
  require<ArgumentError>(!scaler.shift.empty(), "Scaler: has no numbers: fit() or init() a ScalerConfig");
  require<ShapeError>(x.rank() >= 1, "Scaler: a single number has no columns");
  const std::int64_t columns = scaler.shift.shape()[0], last = x.shape().back();
  require<ShapeError>(last == columns, "Scaler: the last dimension of ", x.shape(), " is not its ", columns,
                      columns == 1 ? " column" : " columns");
}

}  // namespace

Value Scaler::apply(const Value& x) const {
  require_columns(*this, x);
  return (x - shift.value()) / scale.value();
}

Value Scaler::undo(const Value& y) const {
  require_columns(*this, y);
  return y * scale.value() + shift.value();
}

Scaler ScalerConfig::init(const Device& device) const {
  require<ArgumentError>(columns > 0, "ScalerConfig: columns = ", columns, " must be positive");
  return {Buffer<1>(zeros({columns}, device)), Buffer<1>(ones({columns}, device))};
}

Scaler ScalerConfig::fit(const Tensor<2>& x) const {
  const auto rows = static_cast<std::size_t>(x.dim(0)), width = static_cast<std::size_t>(x.dim(1));
  const std::vector<double> all = x.to_vector<double>();
  std::vector<double> shifts, scales;
  for (std::size_t column = 0; column < width; ++column) {
    std::vector<double> values;
    for (std::size_t row = 0; row < rows; ++row) {
      const double value = all[row * width + column];
      require<DataError>(!std::isinf(value), "ScalerConfig: row ", row, " of column ", column, " is ", value);
      if (!std::isnan(value)) values.push_back(value);
    }
    require<DataError>(!values.empty(), "ScalerConfig: column ", column, " has no value");
    const Measured measured = measure(kind, std::move(values));
    shifts.push_back(measured.shift);
    // A range of rounding errors alone is none.
    scales.push_back(measured.scale > 1e-12 * std::abs(measured.shift) ? measured.scale : 1);
  }
  const auto buffer = [&](const std::vector<double>& numbers) {
    const TensorData data = TensorData::of<double>({static_cast<std::int64_t>(width)}, numbers);
    const TensorData kept = data.to(x.dtype()), doubles = kept.to(DType::F64);
    for (std::size_t column = 0; column < width; ++column)
      require<DataError>(std::isfinite(doubles.as<double>()[column]), "ScalerConfig: the numbers of column ", column,
                         " exceed what ", x.dtype(), " holds: scale the column down first");
    return Buffer<1>(from_data(kept, x.device()));
  };
  return {buffer(shifts), buffer(scales)};
}

}  // namespace kiln::nn
