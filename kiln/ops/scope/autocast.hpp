// A scope in which matrix products and convolutions run in half precision.
#pragma once
#include "kiln/core/dtype.hpp"

namespace kiln {

/// While this object lives, on this thread: `const Autocast half(DType::BF16);`
///   matrix products, convolutions and attention take float32 operands as `dtype`, and return it;
///   sums, means, products, softmax, layer_norm, scans and losses take half operands as float32;
///   everything else computes in the type to which its operands promote.
/// So parameters and their gradients stay float32. Scopes nest; Autocast(DType::F32) switches an outer one off.
/// Gradients are computed outside of any scope: each op's in the types that the op had. Throws ArgumentError for other
/// types than bfloat16, float16 and float32.
///
/// It is not a decorator of a backend: a backend sees a call when the types of its results are settled, so it could
/// only speed up arithmetic. Here results stay in half precision, which halves what is read, written and kept for
/// gradients; and a scope adds ordinary casts, which tape, fusion and capture treat like any others.
class Autocast {
 public:
  explicit Autocast(DType dtype);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  DType before_;
};

/// The type of the innermost scope on this thread; float32: none.
DType autocast_dtype();

}  // namespace kiln
