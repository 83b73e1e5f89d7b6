#include "kiln/distribution/gamma_path.hpp"

#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/tensor/custom.hpp"

namespace kiln::distribution {
namespace {

/// The derivative by a of the logarithm of a distribution function, which is smooth on the scale sqrt(a): differences
/// of the sixth order, whose error is far below the rounding of float32.
Value log_slope(Value (*share)(const Value&, const Value&), const Value& a, const Value& x) {
  const Value step = sqrt(a) * 0.02;
  const auto difference = [&](double steps) {
    return log(share(a + step * steps, x)) - log(share(a - step * steps, x));
  };
  return (difference(1) * 45.0 - difference(2) * 9.0 + difference(3)) / (step * 60.0);
}

struct LogGammaSlope {
  std::string name() const { return "log_gamma_slope"; }
  Desc infer(Inputs in) const { return like(in[0]); }
  /// The tail that holds less than half gives its derivative without cancellation.
  Value expand(Inputs in) const {
    const Value a = cast(in[0], DType::F64), x = cast(in[1], DType::F64);
    const Value below = igamma(a, x), above = igammac(a, x);
    // x f(x) = x^a exp(-x) / Gamma(a)
    const Value log_weight = a * log(x) - x - lgamma(a);
    const Value from_below = neg(log_slope(igamma, a, x)) * exp(log(below) - log_weight);
    const Value from_above = log_slope(igammac, a, x) * exp(log(above) - log_weight);
    return cast(where(lt(below, 0.5), from_below, from_above), in[0].dtype());
  }
  Values vjp(Inputs, Inputs, Inputs) const {
    fail<AutodiffError>(
        "rsample: a sample of the Gamma, Beta, Dirichlet or StudentT distribution has a first derivative by its "
        "concentration, and no second; detach() the concentration or the gradient");
  }
};

/// The second operand, a logarithm of a sample, as a function of the first, its concentration.
struct GammaPath {
  std::string name() const { return "gamma_path"; }
  Desc infer(Inputs in) const { return like(in[1]); }
  Value expand(Inputs in) const { return in[1] * 1.0; }
  Values vjp(Inputs in, Inputs, Inputs grad) const {
    return {grad[0] * custom_all(LogGammaSlope{}, in[0], exp(in[1]))[0], Value{}};
  }
};

}  // namespace

Value log_gamma_slope(const Value& a, const Value& x) { return custom_all(LogGammaSlope{}, a, x)[0]; }

Value log_gamma_sample(const Value& concentration, const RandomKey& key) {
  const Value a = where(gt(concentration, 0), concentration, kNan);
  const Value boosted = where(lt(a, 1), a + 1.0, a);
  const Value boost = div(exponential_like(a.detach(), 1, key_part(key, 1)), a);
  const Value drawn = log(gamma(boosted.detach(), key_part(key, 0)));
  return custom_all(GammaPath{}, boosted, drawn)[0] - where(lt(a, 1), boost, 0.0);
}

}  // namespace kiln::distribution
