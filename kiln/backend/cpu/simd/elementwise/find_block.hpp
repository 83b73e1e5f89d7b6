// From a function of elementwise.def to the kernel of its row. Included once per target, behind the rows' namespaces
// unary_rows and binary_rows, which are others for floats than for integers; a kernel is a struct whose of<T, Row> is a
// block.
#if defined(KILN_SIMD_FIND_BLOCK_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_FIND_BLOCK_HPP
#undef KILN_SIMD_FIND_BLOCK_HPP
#else
#define KILN_SIMD_FIND_BLOCK_HPP
#endif

#include "kiln/backend/cpu/simd/blocks.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

/// Null where the row is not computed in T.
template <class T, class Kernel>
UnaryBlock<T> find_unary(op::UnaryFn fn) {
  switch (fn) {
#define KILN_UNARY(Name, ...)                                                                              \
  case op::UnaryFn::Name:                                                                                  \
    if constexpr (computes<T>(unary_rows::Name::kDomain)) return Kernel::template of<T, unary_rows::Name>; \
    else return nullptr;
#define KILN_PREDICATE(Name, ...) KILN_UNARY(Name, )
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
  }
  return nullptr;
}

template <class T, class Kernel>
BinaryBlock<T> find_binary(op::BinaryFn fn) {
  switch (fn) {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, ...)                                                                               \
  case op::BinaryFn::Name:                                                                                   \
    if constexpr (computes<T>(binary_rows::Name::kDomain)) return Kernel::template of<T, binary_rows::Name>; \
    else return nullptr;
#define KILN_COMPARISON(Name, ...) KILN_BINARY(Name, )
#include "kiln/ops/elementwise/elementwise.def"
  }
  return nullptr;
}

}  // namespace
}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// Exports what a target's unary_NAME and binary_NAME find as the block for T; in namespace simd, once.
#undef KILN_UNARY_BLOCK
#define KILN_UNARY_BLOCK(T, name) \
  HWY_EXPORT(unary_##name);       \
  template <> UnaryBlock<T> unary_block(op::UnaryFn fn) { return HWY_DYNAMIC_DISPATCH(unary_##name)(fn); }
#undef KILN_BINARY_BLOCK
#define KILN_BINARY_BLOCK(T, name) \
  HWY_EXPORT(binary_##name);       \
  template <> BinaryBlock<T> binary_block(op::BinaryFn fn) { return HWY_DYNAMIC_DISPATCH(binary_##name)(fn); }
#endif
