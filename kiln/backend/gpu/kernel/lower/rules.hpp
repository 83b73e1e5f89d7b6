// The rules of lowering, each in a file of its own. A rule rewrites what a device lacks and leaves the rest; it throws
// DeviceError with the kernel's name where it cannot.
#pragma once
#include "kiln/backend/gpu/capabilities.hpp"
#include "kiln/backend/gpu/kernel/kernel.hpp"

namespace kiln::gpu::lower {

/// bindings.cpp: an access adds the number of elements by which its buffer begins behind what the device binds. Such a
/// number (Origin::Kind::Offset) follows the parameters for each buffer, and a table of them for each table.
Kernel with_offsets(const Kernel& kernel);
/// grid.cpp: blocks from the launch's number of blocks on (Origin::Kind::Blocks) do nothing, so that a device may start
/// more of them: whole rows of a grid of two dimensions, in which Block is printed as row * columns + column.
Kernel with_spare_blocks(const Kernel& kernel);
/// uniform.cpp: all numbers are words of one uniform block (Parameter::uniform), which is the last parameter.
Kernel with_uniform_block(const Kernel& kernel);
/// expand.cpp: expressions, functions and conversions of 64-bit integers are written out as instructions.
Kernel with_expanded_trees(const Kernel& kernel);
/// wide.cpp: 64-bit integers are pairs of words: values, elements of buffers and arrays, and sums that are updated
/// atomically and whose old values nobody reads. Numbers must be in a uniform block, and trees expanded.
Kernel with_pairs(const Kernel& kernel);
/// packed.cpp: elements of these types, of 1 and 2 bytes, in buffers are parts of words of 4, which a store of less than
/// a word updates atomically. Buffers begin at multiples of 4 bytes (with_offsets sees to that).
Kernel with_packed_elements(const Kernel& kernel, Types types);
/// shared.cpp: elements of these types, of 1 and 2 bytes, in shared memory have words of their own.
Kernel with_wide_shared(const Kernel& kernel, Types types);
/// shuffle.cpp: shuffles pass values through shared memory. All threads of the block must get to each.
Kernel with_shared_shuffles(const Kernel& kernel);
/// updates.cpp: float32 in buffers, in shared memory, that is updated atomically is a word, which a comparing exchange
/// replaces.
Kernel with_updated_words(const Kernel& kernel, bool buffers, bool shared);
/// widths.cpp: no access moves more than so many bytes at once, unless an element has more.
Kernel with_narrow_accesses(const Kernel& kernel, int widest);
/// conditions.cpp: what decides whether threads get to a barrier is passed from the first thread to all others where a
/// compiler would not see that it is the same for all (Shared::same).
Kernel with_common_conditions(const Kernel& kernel);

}  // namespace kiln::gpu::lower
