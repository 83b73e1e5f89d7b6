// The update modes of ops/index/update.hpp as functions of elements and of rows.
#pragma once
#include <cstdint>

#include "kiln/core/wrapping.hpp"
#include "kiln/ops/index/update.hpp"

namespace kiln::cpu::simd {

/// z[i] = update(z[i], source[i]) for n elements.
template <class T>
using UpdateRow = void (*)(T* z, const T* source, std::int64_t n);

/// Returns the function for the instruction set of this machine. T is float, double, int32 or int64; for Assign it may
/// also be an unsigned integer of any size.
template <class T>
UpdateRow<T> update_row(Update update);

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
