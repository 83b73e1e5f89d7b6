// One of several modules, chosen at run time: the base of Activation and Normalization.
#pragma once
#include <concepts>
#include <utility>
#include <variant>

#include "kiln/tensor/tensor.hpp"

namespace kiln::nn {

/// The description of a module: its Config, or the module itself if it has no parameters and no Config.
template <class Module>
struct Description {
  using type = Module;
};
template <class Module>
requires requires { typename Module::Config; } struct Description<Module> {
  using type = typename Module::Config;
};

/// Holds one of the modules; each has a `Value apply(const Value&) const` that keeps the rank. The module takes the
/// place of the OneOf in paths: "blocks.0.activation.weight". The default is the first, with its defaults.
template <class... Modules>
class OneOf {
 public:
  /// One of the modules' descriptions, for a field of a config. In JSON it is a name, {"LeakyRelu": {"slope": 0.2}} or
  /// "LeakyRelu".
  using Config = std::variant<typename Description<Modules>::type...>;
  static OneOf from(const Config& config, const Device& device);

  OneOf();
  OneOf(const OneOf&);
  OneOf(OneOf&&) noexcept;
  OneOf& operator=(const OneOf&);
  OneOf& operator=(OneOf&&) noexcept;
  ~OneOf();
  template <class M>
  requires(std::same_as<M, Modules> || ...) OneOf(M module) : held_(std::move(module)) {}

  Value apply(const Value& x) const;
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  /// Null if it holds another module.
  template <class M>
  const M* get() const {
    return std::get_if<M>(&held_);
  }
  std::variant<Modules...>& layers() { return held_; }
  const std::variant<Modules...>& layers() const { return held_; }

 private:
  std::variant<Modules...> held_;
};

// Outside of the class, so that they are only compiled where a choice is explicitly instantiated.
template <class... Modules> OneOf<Modules...>::OneOf() = default;
template <class... Modules> OneOf<Modules...>::OneOf(const OneOf&) = default;
template <class... Modules> OneOf<Modules...>::OneOf(OneOf&&) noexcept = default;
template <class... Modules> OneOf<Modules...>& OneOf<Modules...>::operator=(const OneOf&) = default;
template <class... Modules> OneOf<Modules...>& OneOf<Modules...>::operator=(OneOf&&) noexcept = default;
template <class... Modules> OneOf<Modules...>::~OneOf() = default;

template <class... Modules>
OneOf<Modules...> OneOf<Modules...>::from(const Config& config, const Device& device) {
  return std::visit(
      [&](const auto& described) -> OneOf {
        if constexpr (requires { described.init(device); }) return described.init(device);
        else return described;
      },
      config);
}

template <class... Modules>
Value OneOf<Modules...>::apply(const Value& x) const {
  return std::visit([&](const auto& module) { return module.apply(x); }, held_);
}

}  // namespace kiln::nn
