// What ranks do together as a library of the device's takes it: the collectives of kiln/ops/collective on memory of the device.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/core/dtype.hpp"

namespace kiln::gpu {

struct Meeting {
  enum class Kind : std::uint8_t {
    Sum,       // of each element over all ranks; integers wrap around
    Mean,      // likewise, of float32 and float64
    SumParts,  // this rank's part of Sum, where x has a part for each
    Gather,    // x of all ranks, one after the other
    Send,      // x of rank `root`
  };
  Kind kind;
  int root = 0;
  DType dtype;  // of elements that are combined: float32, float64, or integers of 8, 32 or 64 bits
  const std::byte* x = nullptr;
  std::byte* result = nullptr;  // does not overlap with x
  std::int64_t count = 0;       // elements of x; of SumParts, of the result
};

/// Are elements of that type combined?
constexpr bool meets_in(DType dtype) {
  return dtype != DType::F16 && dtype != DType::BF16 && dtype != DType::I16 && dtype != DType::U16 &&
         dtype != DType::Bool;
}

}  // namespace kiln::gpu
