// How a kernel asks for an operand in an order of its own; the result is kept where it is needed again (packed.hpp).
#pragma once
#include <concepts>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/reflect/signature.hpp"

namespace kiln::cpu {

/// A plain struct that packs: pack(from, to) writes bytes() bytes from an operand whose first element is at `from`. It
/// can read nothing but its own fields and the operand's memory, so its type, its fields and the operand's offset in
/// the block identify the result.
template <class P>
concept Packer = Plain<P> && requires(const P& packer, const std::byte* from, std::byte* to) {
  { packer.bytes() } -> std::same_as<std::size_t>;
  packer.pack(from, to);
};

namespace detail {
template <class P> struct PackedFrom {
  std::ptrdiff_t begin;  // the offset of the operand in its block
  P packer;
};
}  // namespace detail

/// Returns what `packer` makes of `operand`, from the second request on; the result is kept, and counted as
/// MemoryStatistics::packed. Returns null on the first request. From any thread.
template <Packer P>
Ref<Memory> kept(const Value& operand, const P& packer) {
  const std::byte* const from = read(operand).data;
  const detail::PackedFrom<P> form{from - static_cast<const Memory&>(*operand.node()->storage).bytes(), packer};
  return detail::kept(operand, Signature(form), packer.bytes(), [&](std::byte* to) { packer.pack(from, to); });
}

/// Returns it on every request: where kept() returns null, in a block that is not kept.
template <Packer P>
Ref<Memory> packed(const Value& operand, const P& packer) {
  if (Ref<Memory> block = kept(operand, packer)) return block;
  auto block = make_ref<Memory>(packer.bytes());
  packer.pack(read(operand).data, block->bytes());
  return block;
}

}  // namespace kiln::cpu
