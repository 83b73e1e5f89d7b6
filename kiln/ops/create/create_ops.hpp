// Tensors from plain numbers. Random ops take their key as an operand and are pure functions of it.
#pragma once
#include <optional>

#include "kiln/core/random.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln::op {

struct Fill {
  static constexpr std::string_view kName = "fill";
  static constexpr OpTraits kTraits{Pattern::Creation, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { value };
  Shape shape;
  DType dtype;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

/// start + i * step
struct Arange {
  static constexpr std::string_view kName = "arange";
  static constexpr OpTraits kTraits{Pattern::Creation, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { start, step };
  std::int64_t count;
  DType dtype;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

/// The distributions of op::Random. "Word i" is two words, 2i and 2i+1, where the result is float64.
enum class Distribution : std::uint8_t {
  Uniform,      // [a, b)
  Normal,       // mean a, standard deviation b (Box-Muller: elements 2i and 2i+1 share words 2i and 2i+1)
  Bernoulli,    // one with probability a, which may be a tensor; one word for all types
  Exponential,  // rate a: -log(u) / a, where u is the middle of the interval of word i
  // The rest use the element's own stream (ElementWords), by ops/create/draws.hpp.
  TruncatedNormal,  // mean 0, deviation 1, within [a, b]
  Gamma,            // shape a (number or tensor), scale 1
  Beta,             // shapes a and b (numbers or tensors)
  Poisson,          // rate a (number or tensor)
  Integer,          // integers in [a, b)
  Categorical,      // the index of a weight; a has one row [classes] for each row of the result
};

/// Element i is a pure function of `key` (an integer operand: Key::bits), i and the operands.
struct Random {
  static constexpr std::string_view kName = "random";
  static constexpr OpTraits kTraits{Pattern::Creation, AutocastTo::Same, Bound::Other, Rows::None, MayFail::OnData};
  enum Slot { key, a, b };
  Distribution distribution;
  Shape shape;
  DType dtype;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

/// Returns `key` as an operand, or the device's next key where it is empty.
Value key_operand(const std::optional<Key>& key, const Device& device);

/// Zero with the given probability, to the nearest 65536th, else x / (1 - probability): Drops decides for element i, in
/// row-major order, from the key's stream. The op is linear in x, and the mask is never stored: the gradient generates
/// it again from the key.
struct Dropout {
  static constexpr std::string_view kName = "dropout";
  static constexpr OpTraits kTraits{Pattern::Elementwise, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, key, probability };
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
