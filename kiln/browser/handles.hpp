// Handles: numbers by which JavaScript holds tensors and objects. A number is never used twice, so that one that was
// disposed is known as such.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/browser/item.hpp"

namespace kiln::browser {

using Handle = std::uint32_t;

/// A new handle of a Value or an Object. Throws MemoryError where all numbers were used.
Handle hold(Item item);
/// Throws ArgumentError where the handle was disposed.
const Item& held(Handle handle);
/// Frees what the handle holds; may be called for one that was disposed.
void dispose(Handle handle) noexcept;
/// How many there are, so that a page can look for tensors that it forgot.
std::size_t handles();

}  // namespace kiln::browser
