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
    constexpr std::size_t kStops = stops_at<0, T>();
    static_assert(kStops == sizeof...(Layers),
                  "Sequential: the layer of this number, from 0, has no forward() for what the one before it returns");
    if constexpr (kStops == sizeof...(Layers)) return from<0>(x);
    else return x;
  }

  std::tuple<Layers...>& layers() { return layers_; }
  const std::tuple<Layers...>& layers() const { return layers_; }
  template <std::size_t I>
  const auto& layer() const {
    return std::get<I>(layers_);
  }

 private:
  /// The first layer that cannot take the result of the one before, or the number of layers.
  template <std::size_t I, class T>
  static constexpr std::size_t stops_at() {
    if constexpr (I == sizeof...(Layers)) {
      return I;
    } else {
      using Layer = const std::tuple_element_t<I, std::tuple<Layers...>>;
      if constexpr (!requires(Layer& layer, const T& x) { layer.forward(x); }) return I;
      else
        return stops_at<I + 1,
                        std::remove_cvref_t<decltype(std::declval<Layer&>().forward(std::declval<const T&>()))>>();
    }
  }

  template <std::size_t I, class T>
  auto from(const T& x) const {
    if constexpr (I == sizeof...(Layers)) return x;
    else return from<I + 1>(std::get<I>(layers_).forward(x));
  }

  std::tuple<Layers...> layers_;
};

}  // namespace kiln::nn
