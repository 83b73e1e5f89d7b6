#include "kiln/nn/regularization/dropout.hpp"

#include <cmath>

#include "kiln/ops/create/random.hpp"

namespace kiln::nn {
namespace {

/// Zeroes or scales x in blocks that extend over all dimensions from `shared` on.
Value drop_together(const Value& x, int shared, double probability) {
  Shape shape = x.shape();
  for (int i = shared; i < shape.size(); ++i) shape[i] = 1;
  return x * dropout(ones(shape, x.device(), x.dtype()), probability);
}

}  // namespace

Value channel_dropout(const Value& x, double probability) { return drop_together(x, 2, probability); }

Value AlphaDropout::apply(const Value& x) const {
  require<ArgumentError>(probability >= 0 && probability < 1, "AlphaDropout: a probability of ", probability,
                         " is not in [0, 1)");
  if (mode == Mode::Valid || probability == 0) return x;
  constexpr double kLowest = -1.0507009873554805 * 1.6732632423543772;  // the limit of Selu at minus infinity
  const double keep = 1 - probability;
  const double scale = 1 / std::sqrt(keep * (1 + probability * kLowest * kLowest));
  const Value kept = cast(bernoulli_like(x.detach(), keep), DType::Bool);
  return where(kept, x, kLowest) * scale - scale * kLowest * probability;
}

Value DropPath::apply(const Value& x) const { return mode == Mode::Train ? drop_together(x, 1, probability) : x; }

Value GaussianNoise::apply(const Value& x) const {
  require<ArgumentError>(deviation >= 0, "GaussianNoise: the deviation must not be negative, got ", deviation);
  return mode == Mode::Train ? x + normal_like(x, 0, deviation) : x;
}

}  // namespace kiln::nn
