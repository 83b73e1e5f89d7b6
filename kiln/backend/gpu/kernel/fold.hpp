// What can be simplified before a kernel runs: arithmetic with literals, steps that change nothing, results that are
// never read.
#pragma once
#include <map>
#include <optional>

#include "kiln/backend/gpu/kernel/kernel.hpp"

namespace kiln::gpu {

/// Literals by Id: their bits.
using Literals = std::map<Id, std::uint64_t>;

/// The bits of a number as a value of `type`, in the low ones for types smaller than 64 bits.
std::uint64_t bits_of(DType type, double number);
std::uint64_t bits_of(DType type, std::int64_t number);

/// What a pure instruction reduces to: another value, a literal, or neither.
struct Folded {
  std::optional<Id> same_as{};
  std::optional<std::uint64_t> literal{};
};
Folded fold(const Instruction& instruction, const std::vector<DType>& types, const Literals& literals);

/// The result of Compute, Select, Cast and Bits for values given as bits; the interpreter uses it too.
std::uint64_t computed(const Instruction& instruction, DType operand_type, const std::uint64_t* operands);

/// Removes instructions without side effects whose results are never read, and variables that are only written.
void drop_unread(Kernel& kernel);

}  // namespace kiln::gpu
