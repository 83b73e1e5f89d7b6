// How kernels of products hand over what they make, a piece at a time, to be finished while it is in a cache.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

namespace kiln::cpu {

/// Part of a product that is complete: `rows` runs of `count` neighbouring elements in its row-major order, or in the
/// channels-last order of a convolution. Element 0 of the first run is the product's element `first`, and lies at `data`;
/// from run to run it is `step` elements further in the product, `row` in memory.
struct ProductPiece {
  std::int64_t first, rows, count, step;
  const std::byte* data;
  std::int64_t row;
};

/// What the simplest epilogues make of an element x of a float32 product: x + bias + more, at least `low` and at most
/// `high`. Kernels may do so before they store it.
struct Finish {
  float* to;          // where the results lie, in the product's order
  const float* bias;  // what is added to each row of a product of matrices; or null, as it is of other products
  const float* more;  // what is added, in the product's order; or null
  float low, high;    // infinite where there is no such bound

  bool has_bounds() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return low != -kInfinity || high != kInfinity;
  }
};

/// Computes what becomes of a product and stores that.
class Epilogue {
 public:
  virtual ~Epilogue() = default;
  /// Each element in one piece; from any thread. The memory is the caller's again afterwards.
  virtual void finish(const ProductPiece& piece) const = 0;
  /// Where the first result will lie, in the product's order and with elements of its size: to be fetched in time. Null
  /// where there is no such place.
  virtual const std::byte* target() const { return nullptr; }
  /// All that it does, if that is so simple; a kernel that does it all by itself finishes nothing. Null for others.
  virtual const Finish* simple() const { return nullptr; }
};

/// So many neighbouring elements make it worth finishing a piece run by run.
inline constexpr std::int64_t kWorthFinishing = 128;

}  // namespace kiln::cpu
