// How a kernel asks for an operand in an order of its own, which is kept where it is wanted again (packed.hpp).
#pragma once
#include <concepts>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/reflect/signature.hpp"

namespace kiln::cpu {

/// A plain struct that packs: pack(from, to) writes bytes() bytes from an operand whose first element lies at `from`.
/// It reads its own fields and the operand's memory, and there is nothing else that it could read: type, fields and
/// where the operand begins are the name of what it makes.
template <class P>
concept Packer = Plain<P> && requires(const P& packer, const std::byte* from, std::byte* to) {
  { packer.bytes() } -> std::same_as<std::size_t>;
  packer.pack(from, to);
};

namespace detail {
template <class P> struct PackedFrom {
  std::ptrdiff_t begin;  // of the operand in its block
  P packer;
};
}  // namespace detail

/// What `packer` makes of `operand`, from the second time on that it is asked for; it is kept, and counted as
/// MemoryStatistics::packed. Null the first time. From any thread.
template <Packer P>
Ref<Memory> kept(const Value& operand, const P& packer) {
  const std::byte* const from = read(operand).data;
  const detail::PackedFrom<P> form{from - static_cast<const Memory&>(*operand.node()->storage).bytes(), packer};
  return detail::kept(operand, Signature(form), packer.bytes(), [&](std::byte* to) { packer.pack(from, to); });
}

/// The same, but the first time a block of which nothing is kept.
template <Packer P>
Ref<Memory> packed(const Value& operand, const P& packer) {
  if (Ref<Memory> block = kept(operand, packer)) return block;
  auto block = make_ref<Memory>(packer.bytes());
  packer.pack(read(operand).data, block->bytes());
  return block;
}

}  // namespace kiln::cpu
