#include "tests/optim/rows.hpp"

#include "tests/optim/torch_figures.hpp"

namespace kiln {
namespace {

using namespace references;

MakeStep sgd(double momentum, double dampening, double decay, bool nesterov) {
  return each([=] {
    return [=, v = 0.0](double x, double g, double rate, int t) mutable {
      g += decay * x;
      v = t == 1 ? g : momentum * v + (1 - dampening) * g;
      return x - rate * (nesterov ? g + momentum * v : momentum != 0 ? v : g);
    };
  });
}

MakeStep adagrad(double rate_decay, double decay, double initial) {
  return each([=] {
    return [=, sum = initial](double x, double g, double rate, int t) mutable {
      g += decay * x;
      sum += g * g;
      return x - rate / (1 + (t - 1) * rate_decay) * g / (std::sqrt(sum) + 1e-10);
    };
  });
}

MakeStep adadelta(double rho, double epsilon, double decay) {
  return each([=] {
    return [=, v = 0.0, u = 0.0](double x, double g, double rate, int) mutable {
      g += decay * x;
      v = rho * v + (1 - rho) * g * g;
      const double step = std::sqrt(u + epsilon) / std::sqrt(v + epsilon) * g;
      u = rho * u + (1 - rho) * step * step;
      return x - rate * step;
    };
  });
}

MakeStep rmsprop(double alpha, double decay, double momentum, bool centered) {
  return each([=] {
    return [=, v = 0.0, m = 0.0, b = 0.0](double x, double g, double rate, int) mutable {
      g += decay * x;
      v = alpha * v + (1 - alpha) * g * g;
      m = alpha * m + (1 - alpha) * g;
      b = momentum * b + g / (std::sqrt(v - (centered ? m * m : 0)) + 1e-8);
      return x - rate * b;
    };
  });
}

/// Algorithm 1, with betas as the authors' program has them: shares that are kept.
MakeStep adan(double decay, bool proximal) {
  return each([=] {
    return [=, m = 0.0, d = 0.0, n = 0.0, last = 0.0](double x, double g, double rate, int t) mutable {
      const double change = t == 1 ? 0 : g - last;
      last = g;
      m = 0.98 * m + 0.02 * g;
      d = 0.92 * d + 0.08 * change;
      n = 0.99 * n + 0.01 * std::pow(g + 0.92 * change, 2);
      const double scale = std::sqrt(n / (1 - std::pow(0.99, t))) + 1e-8;
      const double step = rate * (m / (1 - std::pow(0.98, t)) + 0.92 * d / (1 - std::pow(0.92, t))) / scale;
      return proximal ? (x - step) / (1 + rate * decay) : x - rate * decay * x - step;
    };
  });
}

MakeStep lion(double beta1, double beta2, double decay) {
  return each([=] {
    return [=, m = 0.0](double x, double g, double rate, int) mutable {
      const double c = beta1 * m + (1 - beta1) * g;
      m = beta2 * m + (1 - beta2) * g;
      return x - rate * ((c > 0) - (c < 0) + decay * x);
    };
  });
}

MakeStep nadam(double decay, bool decoupled) {
  return each([=] {
    return [=, m = 0.0, v = 0.0](double x, double g, double rate, int t) mutable {
      const auto mu = [](int i) { return 0.9 * (1 - 0.5 * std::pow(0.96, i * 4e-3)); };
      double product = 1;
      for (int i = 1; i <= t; ++i) product *= mu(i);
      if (decoupled) x -= rate * decay * x;
      else g += decay * x;
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      const double mean = mu(t + 1) * m / (1 - product * mu(t + 1)) + (1 - mu(t)) * g / (1 - product);
      return x - rate * mean / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    };
  });
}

/// Liu et al., algorithm 2.
MakeStep radam(double beta2, double decay, bool decoupled) {
  return each([=] {
    return [=, m = 0.0, v = 0.0](double x, double g, double rate, int t) mutable {
      if (decoupled) x -= rate * decay * x;
      else g += decay * x;
      m = 0.9 * m + 0.1 * g;
      v = beta2 * v + (1 - beta2) * g * g;
      const double mean = m / (1 - std::pow(0.9, t)), power = std::pow(beta2, t);
      const double most = 2 / (1 - beta2) - 1, length = most - 2 * t * power / (1 - power);
      if (length <= 5) return x - rate * mean;
      const double r = std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));
      return x - rate * r * mean * std::sqrt(1 - power) / (std::sqrt(v) + 1e-8);
    };
  });
}

/// Defazio et al., section 4 (schedule-free AdamW), y after each step.
MakeStep schedule_free(double beta1, double decay, int warmup, double step_power) {
  return each([=] {
    return [=, z = 0.0, average = 0.0, v = 0.0, sum = 0.0, most = 0.0](double y, double g, double rate, int t) mutable {
      if (t == 1) z = average = y;
      v = 0.999 * v + 0.001 * g * g;
      const double now = rate * (t <= warmup ? static_cast<double>(t) / warmup : 1);
      z -= now * (g / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8) + decay * y);
      most = std::max(most, now);
      const double weight = std::pow(t, step_power) * most * most;
      sum += weight;
      average += weight / sum * (z - average);
      return (1 - beta1) * z + beta1 * average;
    };
  });
}

double original(double rows, double columns) { return std::sqrt(std::max(1.0, rows / columns)); }
double like_adamw(double rows, double columns) { return 0.2 * std::sqrt(std::max(rows, columns)); }
double spectral(double rows, double columns) { return std::sqrt(rows / columns); }

}  // namespace

const std::vector<RuleRow>& rule_rows() {
  using Scale = MuonConfig::Scale;
  static const std::vector<RuleRow> rows = {
      {"sgd", SgdConfig{.weight_decay = 0.1}, 0.05, sgd(0, 0, 0.1, false), kTorchSgd},
      {"sgd_momentum", SgdConfig{.momentum = 0.9, .dampening = 0.2, .weight_decay = 0.1}, 0.05,
       sgd(0.9, 0.2, 0.1, false), kTorchSgdMomentum},
      {"sgd_nesterov", SgdConfig{.momentum = 0.9, .nesterov = true}, 0.05, sgd(0.9, 0, 0, true), kTorchSgdNesterov},
      {"adam", AdamConfig{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.3}, 0.05,
       adam({.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .decay = 0.3}), kTorchAdam},
      {"adam_amsgrad", AdamConfig{.beta2 = 0.9, .amsgrad = true}, 0.05, adam({.beta2 = 0.9, .amsgrad = true}),
       kTorchAdamAmsgrad},
      {"adamw", AdamWConfig{.weight_decay = 0.3}, 0.05, adam({.decoupled_decay = 0.3}), kTorchAdamW},
      {"adamw_amsgrad", AdamWConfig{.beta2 = 0.9, .amsgrad = true}, 0.05,
       adam({.beta2 = 0.9, .decoupled_decay = 0.01, .amsgrad = true}), kTorchAdamWAmsgrad},
      {"adamw_cautious", AdamWConfig{.cautious = true}, 0.05, adam({.decoupled_decay = 0.01, .cautious = true})},
      {"adamw_cautious_decay", AdamWConfig{.weight_decay = 0.3, .cautious_decay = true}, 0.05,
       adam({.decoupled_decay = 0.3, .cautious_decay = true})},
      {"adagrad", AdaGradConfig{.rate_decay = 0.01, .weight_decay = 0.1, .initial = 0.2}, 0.2, adagrad(0.01, 0.1, 0.2),
       kTorchAdaGrad},
      {"adadelta", AdaDeltaConfig{.rho = 0.8, .epsilon = 1e-3, .weight_decay = 0.1}, 0.7, adadelta(0.8, 1e-3, 0.1),
       kTorchAdaDelta},
      {"rmsprop", RmsPropConfig{.alpha = 0.9}, 0.02, rmsprop(0.9, 0, 0, false), kTorchRmsProp},
      {"rmsprop_centered", RmsPropConfig{.weight_decay = 0.1, .momentum = 0.5, .centered = true}, 0.002,
       rmsprop(0.99, 0.1, 0.5, true), kTorchRmsPropCentered},
      {"adan", AdanConfig{.weight_decay = 0.1}, 0.05, adan(0.1, true)},
      {"adan_not_proximal", AdanConfig{.weight_decay = 0.1, .proximal = false}, 0.05, adan(0.1, false)},
      {"lion", LionConfig{.weight_decay = 0.1}, 0.03, lion(0.9, 0.99, 0.1)},
      {"lamb", LambConfig{.weight_decay = 0.1}, 0.05, lamb(0.9, 0.999, 1e-6, 0.1)},
      {"nadam", NAdamConfig{.weight_decay = 0.1}, 0.05, nadam(0.1, false), kTorchNAdam},
      {"nadam_decoupled", NAdamConfig{.weight_decay = 0.1, .decoupled = true}, 0.05, nadam(0.1, true),
       kTorchNAdamDecoupled},
      {"radam", RAdamConfig{.weight_decay = 0.1}, 0.05, radam(0.999, 0.1, false), kTorchRAdam},
      {"radam_decoupled", RAdamConfig{.beta2 = 0.9, .weight_decay = 0.1, .decoupled = true}, 0.05,
       radam(0.9, 0.1, true), kTorchRAdamDecoupled},
      {"adafactor", AdafactorConfig{.weight_decay = 0.1}, 0.1, adafactor(-0.8, 1e-3, 1, 0.1, 0x1p-52), kTorchAdafactor},
      {"adafactor_threshold", AdafactorConfig{.decay = -0.5, .threshold = 1.5, .epsilon = 1e-3}, 0.3,
       adafactor(-0.5, 1e-3, 1.5, 0, 1e-3), kTorchAdafactorThreshold},
      {.label = "muon",
       .rule = MuonConfig{},
       .rate = 0.05,
       .reference = muon(0.95, true, 0.1, original),
       .torch = kTorchMuon,
       .matrices_only = true},
      {.label = "muon_like_adamw",
       .rule = MuonConfig{.momentum = 0.8, .weight_decay = 0, .nesterov = false, .scale = Scale::MatchAdamW},
       .rate = 0.05,
       .reference = muon(0.8, false, 0, like_adamw),
       .torch = kTorchMuonLikeAdamW,
       .matrices_only = true},
      {.label = "muon_spectral",
       .rule = MuonConfig{.scale = Scale::Spectral},
       .rate = 0.05,
       .reference = muon(0.95, true, 0.1, spectral),
       .torch = kTorchMuonSpectral,
       .matrices_only = true},
      {"schedule_free", ScheduleFreeAdamWConfig{}, 0.05, schedule_free(0.9, 0, 0, 0)},
      {"schedule_free_warmup",
       ScheduleFreeAdamWConfig{.beta1 = 0.95, .weight_decay = 0.1, .warmup = 5, .step_power = 1}, 0.05,
       schedule_free(0.95, 0.1, 5, 1)},
      {"soap", SoapConfig{}, 0.05, soap(0.95, 0.95, 0.95, 1e-8, 0.01, 10)},
      {"soap_often", SoapConfig{.beta1 = 0.9, .basis_beta = 0.8, .weight_decay = 0, .every = 3}, 0.02,
       soap(0.9, 0.95, 0.8, 1e-8, 0, 3)},
  };
  return rows;
}

}  // namespace kiln
