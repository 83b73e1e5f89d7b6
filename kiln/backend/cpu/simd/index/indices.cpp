#include "kiln/backend/cpu/simd/index/indices.hpp"

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 65536;

Value fresh(const Shape& shape, DType dtype, const Value& beside) {
  return Value(make_ref<Node>(Desc{shape, dtype}, beside.device()));
}

}  // namespace

Indices::Indices(const Value& index, const Shape& shape) : count_(numel(shape)) {
  Array array = broadcast_to(read(index), shape);
  if (!array.contiguous()) {
    held_ = fresh(shape, array.dtype, index);
    const Array copied = allocate(held_, MemoryUse::Scratch);
    copy(array, copied);
    array = copied;
  }
  if (array.dtype != DType::I64) {
    Value converted = fresh(shape, DType::I64, index);
    const Array result = allocate(converted, MemoryUse::Scratch);
    const auto size = static_cast<std::int64_t>(size_of(array.dtype));
    parallel_for(count_, kGrain, [&](std::int64_t begin, std::int64_t end) {
      convert(array.dtype, array.data + begin * size, DType::I64, result.as<std::int64_t>() + begin, end - begin);
    });
    held_ = converted;
    array = result;
  }
  data_ = array.as<const std::int64_t>();
}

void Indices::check(std::string_view op, int dim, std::int64_t size, std::int64_t begin, std::int64_t end) const {
  std::int64_t outside = 0;
  for (std::int64_t i = begin; i < end; ++i) outside |= range_sign(data_[i], size);
  if (outside >= 0) return;
  for (std::int64_t i = begin; i < end; ++i)
    require<IndexError>(data_[i] >= 0 && data_[i] < size, op, ": index ", data_[i], " is out of range for dimension ",
                        dim, " of size ", size);
}

void Indices::check(std::string_view op, int dim, std::int64_t size) const {
  parallel_for(count_, kGrain, [&](std::int64_t begin, std::int64_t end) { check(op, dim, size, begin, end); });
}

}  // namespace kiln::cpu::simd
