// Normalisations besides layer_norm. Weights and biases may be empty; half precision is computed in float32; variances
// are computed from the mean, never as a difference of squares.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

struct BatchNormOptions {
  double momentum = 0.1;  // the weight of the new batch in the running statistics
  double epsilon = 1e-5;
};
struct BatchNormResult {
  Value output;
  Value mean, variance;                  // of the batch [channels]; the variance divides by count; no gradient
  Value running_mean, running_variance;  // the updated ones: the variance divides by count - 1; no gradient
};
/// Training: normalises each channel of x [batch, channels, sizes...] by its own mean and variance, then multiplies by
/// weight [channels] and adds bias [channels]. Empty running statistics stay empty. Throws ShapeError where a channel
/// has less than two elements (Ioffe, Szegedy, "Batch normalization", 2015).
BatchNormResult batch_norm_training(const Value& x, const Value& running_mean, const Value& running_variance,
                                    const Value& weight = {}, const Value& bias = {},
                                    const BatchNormOptions& options = {});
/// Inference: normalises by the running statistics.
Value batch_norm(const Value& x, const Value& running_mean, const Value& running_variance, const Value& weight = {},
                 const Value& bias = {}, double epsilon = 1e-5);

/// Normalises each of `groups` runs of channels of x [batch, channels, sizes...] by its own mean and variance (Wu, He,
/// "Group normalization", 2018). Throws ArgumentError where the groups do not divide the channels.
Value group_norm(const Value& x, std::int64_t groups, const Value& weight = {}, const Value& bias = {},
                 double epsilon = 1e-5);
/// Normalises each channel of each example separately.
Value instance_norm(const Value& x, const Value& weight = {}, const Value& bias = {}, double epsilon = 1e-5);
/// Normalises over the last `dims` dimensions, without weight and bias.
Value layer_norm(const Value& x, int dims = 1, double epsilon = 1e-5);
/// x / sqrt(mean(x^2) + epsilon) * weight over the trailing dimensions that weight has; over the last one if it is empty
/// (Zhang, Sennrich, "Root mean square layer normalization", 2019).
Value rms_norm(const Value& x, const Value& weight = {}, double epsilon = 1e-6);

/// Normalises across neighbouring channels of x [batch, channels, sizes...]: x / (k + alpha / size * sum of size
/// squares)^beta (Krizhevsky, Sutskever, Hinton, 2012, section 3.3, with PyTorch's division by size).
struct LocalResponseNormOptions {
  std::int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, k = 1;
};
Value local_response_norm(const Value& x, const LocalResponseNormOptions& options = {});

}  // namespace kiln
