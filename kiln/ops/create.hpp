// Tensors from plain numbers. Random ops take their key as an operand and are pure functions of it.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

struct Fill {
  static constexpr std::string_view kName = "fill";
  static constexpr Pattern kPattern = Pattern::Creation;
  enum Slot { value };
  Shape shape;
  DType dtype;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

/// start + i * step
struct Arange {
  static constexpr std::string_view kName = "arange";
  static constexpr Pattern kPattern = Pattern::Creation;
  enum Slot { start, step };
  std::int64_t count;
  DType dtype;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

enum class Distribution : std::uint8_t {
  Uniform,    // [a, b)
  Normal,     // mean a, standard deviation b (Box-Muller: elements 2i and 2i+1 share words 2i and 2i+1)
  Bernoulli,  // one with probability a
};

/// Element i comes from word i of the stream of `key` (an integer operand: Key::bits).
struct Random {
  static constexpr std::string_view kName = "random";
  static constexpr Pattern kPattern = Pattern::Creation;
  enum Slot { key, a, b };
  Distribution distribution;
  Shape shape;
  DType dtype;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

/// Zero with the probability given, x / (1 - probability) otherwise: element i (in row-major order) is kept where
/// to_uniform(word i of the key's stream) >= probability. Linear in x, and the mask is never stored: the gradient
/// draws it again from the key.
struct Dropout {
  static constexpr std::string_view kName = "dropout";
  static constexpr Pattern kPattern = Pattern::Elementwise;
  enum Slot { x, key, probability };
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
