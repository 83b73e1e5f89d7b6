// Noise in training: each module does what it says in Mode::Train, and returns x unchanged in Mode::Valid. Random
// numbers are drawn from the device's stream. Monte-Carlo dropout, which stays active, is
// with_mode<nn::Dropout>(valid(model), nn::Mode::Train).
#pragma once
#include <array>

#include "kiln/nn/mode.hpp"
#include "kiln/tensor/normalization.hpp"

namespace kiln::nn {

/// In Mode::Train each element is zeroed with the given probability and the others are scaled by 1 / (1 - probability).
/// Throws ArgumentError outside [0, 1].
struct Dropout {
  double probability = 0.5;
  Mode mode = Mode::Train;

  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const { return mode == Mode::Train ? dropout(x, probability) : x; }
};

/// Drops whole channels of x [batch, channels, sizes...] (Tompson et al., "Efficient object localization", 2015).
Value channel_dropout(const Value& x, double probability);

template <int N>
struct ChannelDropout {
  static constexpr std::string_view kName = std::array{"Dropout1d", "Dropout2d", "Dropout3d"}[N - 1];
  double probability = 0.5;
  Mode mode = Mode::Train;

  /// x [batch, channels, N sizes...]. Throws ArgumentError outside [0, 1].
  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return mode == Mode::Train ? Tensor<N + 2>(channel_dropout(x.value(), probability)) : x;
  }
};
using Dropout1d = ChannelDropout<1>;
using Dropout2d = ChannelDropout<2>;
using Dropout3d = ChannelDropout<3>;

/// Dropout for networks with Selu: elements become its lower bound rather than 0, and the result is scaled and shifted
/// so that mean 0 and variance 1 are preserved (Klambauer et al., "Self-normalizing neural networks", 2017).
struct AlphaDropout {
  double probability = 0.5;
  Mode mode = Mode::Train;

  /// Throws ArgumentError outside [0, 1).
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const;
};

/// Zeroes whole examples of x [batch, ...] with the given probability, and scales the others: for the branch of a
/// residual block (Huang et al., "Deep networks with stochastic depth", 2016).
struct DropPath {
  double probability = 0.1;
  Mode mode = Mode::Train;

  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const;
};

/// Adds numbers drawn from N(0, deviation^2).
struct GaussianNoise {
  double deviation = 0.1;
  Mode mode = Mode::Train;

  /// Throws ArgumentError for a negative deviation.
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const;
};

}  // namespace kiln::nn
