// Collective: a collective of ranks as a library of the device receives it (kiln/ops/collective), on memory of the
// device.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/core/dtype.hpp"

namespace kiln::gpu {

struct Collective {
  enum class Kind : std::uint8_t {
    Sum,       // elementwise over all ranks; integers wrap around
    Mean,      // elementwise over all ranks, float32 and float64 only
    SumParts,  // this rank's part of Sum, where x has one part per rank
    Gather,    // x of all ranks, concatenated
    Send,      // x of rank `root`
  };
  Kind kind;
  int root = 0;
  DType dtype;  // element type of the reduction: float32, float64, or integers of 8, 32 or 64 bits
  const std::byte* x = nullptr;
  std::byte* result = nullptr;  // does not overlap with x
  std::int64_t count = 0;       // number of elements of x; for SumParts, of the result
};

/// Can elements of this type be combined?
constexpr bool meets_in(DType dtype) {
  return dtype != DType::F16 && dtype != DType::BF16 && dtype != DType::I16 && dtype != DType::U16 &&
         dtype != DType::Bool;
}

}  // namespace kiln::gpu
