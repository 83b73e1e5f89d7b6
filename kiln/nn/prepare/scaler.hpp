// Scales columns of data, with numbers that are measured once and saved, loaded and moved with the model:
//
//   struct Model {
//     nn::Scaler inputs, targets;
//     nn::Linear linear;
//     Tensor<2> forward(const Tensor<2>& x) const { return targets.inverse(linear.forward(inputs.forward(x))); }
//   };
//   model.inputs = nn::ScalerConfig{.kind = nn::Scaling::Standard}.fit(train_x);
#pragma once
#include "kiln/nn/param.hpp"

namespace kiln::nn {

/// What is subtracted from a column, and by what it is then divided.
enum class Scaling : std::uint8_t {
  Standard,  // the mean and the standard deviation (of the population)
  MinMax,    // the least value and the range: results are from 0 to 1
  MaxAbs,    // 0 and the largest magnitude: results are from -1 to 1
  Robust,    // the median and the distance between the quartiles, which outliers change little
};

/// y = (x - shift) / scale, by columns. Both are buffers: they are not trained.
struct Scaler {
  Buffer<1> shift, scale;  // [columns]

  /// x [..., columns] -> [..., columns]. Throws ShapeError.
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  /// The data that forward() gives y for.
  template <int D>
  requires(D >= 1) Tensor<D> inverse(const Tensor<D>& y) const {
    return Typed{undo(y.value())};
  }
  Value apply(const Value& x) const;
  Value undo(const Value& y) const;
};

struct ScalerConfig {
  Scaling kind = Scaling::Standard;
  std::int64_t columns = 0;  // for init()

  /// A scaler that changes nothing, to load a saved one into. Throws ArgumentError for less than 1 column.
  Scaler init(const Device& device) const;
  /// Measures the columns of x [rows, columns], in double precision, and leaves NaN out; the scaler is on the device of
  /// x, in its float type. A column of one value is divided by 1. Throws DataError for a column without
  /// a value or with an infinite one.
  [[nodiscard("fit() keeps nothing: it returns a scaler")]] Scaler fit(const Tensor<2>& x) const;
};

}  // namespace kiln::nn
