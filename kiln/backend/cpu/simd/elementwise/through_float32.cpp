#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

/// Both lie in the same order without gaps.
void convert(const Array& from, const Array& to) {
  const auto step = [](const Array& array) { return static_cast<std::int64_t>(size_of(array.dtype)); };
  parallel_for(from.numel(), 65536, [&](std::int64_t begin, std::int64_t end) {
    simd::convert(from.dtype, from.data + begin * step(from), to.dtype, to.data + begin * step(to), end - begin);
  });
}

}  // namespace

Value widened(const Value& value, DType dtype) {
  if (value.empty()) return value;
  const Dims order = follow_order(value.shape(), {&value, 1});  // row-major where the tensor has gaps
  Value held, wide(make_ref<Node>(Desc{value.shape(), dtype}, value.device()));
  const Array from = order == read(value).strides ? read(value) : read_contiguous(value, held);
  convert(from, allocate(wide, order, MemoryUse::Scratch));
  return wide;
}

void narrow(const Value& wide, Value& result) {
  const Array from = read(wide);
  convert(from, allocate(result, from.strides));
}

}  // namespace kiln::cpu::simd
