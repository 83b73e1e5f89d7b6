// Layers that run one after the other.
#pragma once
#include <tuple>
#include <utility>

#include "kiln/nn/walk.hpp"

namespace kiln::nn {

/// Each layer's forward gets the result of the one before; ranks may change on the way. Parts are named by index:
/// "mlp.0.weight".
template <class... Layers>
class Sequential {
 public:
  Sequential() = default;
  explicit Sequential(Layers... layers) requires(sizeof...(Layers) > 0) : layers_(std::move(layers)...) {}

  template <class T>
  auto forward(const T& x) const {
    return from<0>(x);
  }

  std::tuple<Layers...>& layers() { return layers_; }
  const std::tuple<Layers...>& layers() const { return layers_; }
  template <std::size_t I>
  const auto& layer() const {
    return std::get<I>(layers_);
  }

 private:
  template <std::size_t I, class T>
  auto from(const T& x) const {
    if constexpr (I == sizeof...(Layers)) return x;
    else return from<I + 1>(std::get<I>(layers_).forward(x));
  }

  std::tuple<Layers...> layers_;
};

}  // namespace kiln::nn
