// Library: products, convolutions and attention by a library of the device, which is asked before our own kernels.
#pragma once
#include "kiln/backend/gpu/attention.hpp"
#include "kiln/backend/gpu/convolution.hpp"
#include "kiln/backend/gpu/product.hpp"

namespace kiln::gpu {

/// Products and convolutions of float32 have the precision of the thread's scope (Float32Precision::said), which is that
/// of the op. Each function returns false, with nothing done, where the library does not know what it is asked for.
class Library {
 public:
  /// How the library compares with our kernels.
  struct Worth {
    bool tf32 = false;                       // it multiplies float32 by matrix units under Float32Precision::High
    std::int64_t min_library_channels = 0;   // with fewer channels, it is no faster than our convolutions
    std::int64_t min_library_attention = 0;  // multiplications; with fewer, calling it does not pay
  };

  virtual ~Library() = default;
  virtual Worth worth() const { return {}; }
  virtual bool multiply(const Product&) { return false; }
  /// Every tensor has at least one element.
  virtual bool convolve(const Convolution&) { return false; }
  /// The results may hold anything if it returns false.
  virtual bool attend(const Attention&) { return false; }
  /// The bytes of workspace with which that attention is fastest.
  virtual std::int64_t attention_workspace(const Attention&) { return 0; }
};

}  // namespace kiln::gpu
