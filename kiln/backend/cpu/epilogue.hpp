// How kernels of products hand their results over, a piece at a time, so that these are finished while in a cache.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

namespace kiln::cpu {

/// A complete part of a product: `rows` runs of `count` neighbouring elements in its row-major order, or in the
/// channels-last order of a convolution. Element 0 of the first run is the product's element `first` and is stored at
/// `data`. The next run starts `step` elements further in the product and `row` elements further in memory.
struct ProductTile {
  std::int64_t first, rows, count, step;
  const std::byte* data;
  std::int64_t row;
};

/// What the simplest epilogues compute from an element x of a float32 product: x + bias + more, at least `low` and at
/// most `high`. Kernels may do so before they store the element.
struct SimpleEpilogue {
  float* to;          // where the results are stored, in the product's order
  const float* bias;  // added to each row of a product of matrices; null for none, and for other products
  const float* more;  // added to each element, in the product's order; or null
  float low, high;    // infinite where there is no bound

  bool has_bounds() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return low != -kInfinity || high != kInfinity;
  }
};

/// Computes a program on a product and stores its results.
class Epilogue {
 public:
  virtual ~Epilogue() = default;
  /// Finishes one piece; each element is in exactly one. From any thread. Afterwards the memory is the caller's again.
  virtual void finish(const ProductTile& piece) const = 0;
  /// Returns where the first result will be stored, in the product's order and with elements of its size, so that a
  /// kernel can fetch it in time. Null where there is no such address.
  virtual const std::byte* target() const { return nullptr; }
  /// Returns all that it does, if that is this simple, else null. A kernel that does it itself does not call finish().
  virtual const SimpleEpilogue* simple() const { return nullptr; }
};

/// The number of neighbouring elements from which finishing a piece run by run pays.
inline constexpr std::int64_t kMinEpilogueRun = 128;

}  // namespace kiln::cpu
