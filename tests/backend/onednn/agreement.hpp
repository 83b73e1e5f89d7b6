// Does what oneDNN computes agree with the truth? Of its primitives one by one, and of Kiln's
// kernels, which cut the work, reorder operands and choose between oneDNN's loops and their own.
#pragma once
#include <string>
#include <vector>

#include "kiln/backend/cpu/onednn/mistakes.hpp"

#include "tests/backend/onednn/geometries.hpp"

namespace kiln::cpu::onednn {

/// What became of one geometry, pass and element type.
struct Finding {
  enum class What {
    Right,
    None,      // oneDNN has nothing but its own reference loop, or our kernels leave the case to ours
    Wrong,     // another number than the right one
    NaN,       // memory that nobody had written reached the result, or part of the result was not written
    Overrun,   // memory beside the result was written
    Unsteady,  // other bits on several threads than on one
  } what = What::Right;
  double error = 0;            // the largest, relative to the largest number
  std::string implementation;  // oneDNN's name of it
  bool failed() const { return what != What::Right && what != What::None; }
};
const char* name(Finding::What what);
const char* name(Pass pass);

/// A primitive of oneDNN on the calling thread, with results, working memory and all that lies around the operands filled
/// with NaN before. `dtype` F32 or BF16. `shift` moves operands away from the beginning of a block, as pieces of a
/// tensor lie.
Finding check_primitive(const Geometry& g, const Truth& truth, Pass pass, DType dtype, bool with_bias,
                        std::int64_t shift);

/// Kiln's kernels for float32 and halves, on one thread and then on several. Operands are in channels-last order or, if
/// `plain`, row-major. Set KILN_POISON to have new memory filled with NaN.
Finding check_kernel(const Geometry& g, const Truth& truth, Pass pass, DType dtype, bool with_bias, bool plain);

/// Kiln's plain kernels in float64.
Finding check_reference(const Geometry& g, const Truth& truth, Pass pass, bool with_bias);

/// Kiln's product of halves, of random sizes, batches and orders: number `index` of `seed`; `sizes` says which.
Finding check_matmul(std::uint64_t seed, std::uint64_t index, DType dtype, std::string& sizes);

}  // namespace kiln::cpu::onednn
