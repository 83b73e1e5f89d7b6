// The update modes of ops/index/update.hpp as functions of elements and of rows.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/core/wrapping.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/index/update.hpp"

namespace kiln::cpu::simd {

/// Computes z[i] = update(z[i], source[i]) for n elements. T is float, double, int32 or int64; for Assign it may also be
/// an unsigned integer of any size.
template <class T>
class UpdateRow {
 public:
  explicit UpdateRow(Update update) : block_(block_of(update)) {}
  void operator()(T* z, const T* source, std::int64_t n) const {
    if (block_) block_(source, 1, z, 1, z, static_cast<std::size_t>(n));
    else std::copy_n(source, n, z);
  }

 private:
  static BinaryBlock<T> block_of(Update update) {
    if constexpr (!std::is_unsigned_v<T>) {
      switch (update) {
        case Update::Assign: break;
        case Update::Add: return binary_block<T>(op::BinaryFn::Add);
        case Update::Mul: return binary_block<T>(op::BinaryFn::Mul);
        case Update::Min: return binary_block<T>(op::BinaryFn::Minimum);
        case Update::Max: return binary_block<T>(op::BinaryFn::Maximum);
      }
    }
    return nullptr;
  }

  BinaryBlock<T> block_;  // null for Assign
};

/// Returns the new element for the old one and the one that is written.
template <Update update, class T>
T updated(T old, T written) {
  switch (update) {
    case Update::Assign: return written;
    case Update::Add: return wrapping_add(old, written);
    case Update::Mul: return wrapping_multiply(old, written);
    case Update::Min: return written != written || written < old ? written : old;
    case Update::Max: return written != written || written > old ? written : old;
  }
}

}  // namespace kiln::cpu::simd
