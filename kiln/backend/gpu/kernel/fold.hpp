// What is known of instructions before a kernel runs: arithmetic with literals, steps that change nothing, results that
// nobody reads.
#pragma once
#include <map>
#include <optional>

#include "kiln/backend/gpu/kernel/kernel.hpp"

namespace kiln::gpu {

/// Literals by Id: their bits.
using Literals = std::map<Id, std::uint64_t>;

/// The bits of a number as a value of `type`; those of types smaller than 64 bits stand in the low ones.
std::uint64_t bits_of(DType type, double number);
std::uint64_t bits_of(DType type, std::int64_t number);

/// A pure instruction is the same as another value, or a literal, or neither.
struct Folded {
  std::optional<Id> same_as{};
  std::optional<std::uint64_t> literal{};
};
Folded fold(const Instruction& instruction, const std::vector<DType>& types, const Literals& literals);

/// Compute, Select, Cast and Bits of values given as bits: what the interpreter does too.
std::uint64_t computed(const Instruction& instruction, DType operand_type, const std::uint64_t* operands);

/// Takes out instructions whose results nobody reads, and which do nothing else; variables that are only written, too.
void drop_unread(Kernel& kernel);

}  // namespace kiln::gpu
