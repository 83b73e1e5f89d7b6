#include <algorithm>
#include <cstring>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/ops/index.hpp"

namespace kiln::cpu::reference {
namespace {

void require_index(std::string_view op, std::int64_t index, int dim, std::int64_t size) {
  require<IndexError>(index >= 0 && index < size, op, ": index ", index, " is out of range for dimension ", dim,
                      " of size ", size);
}

/// Calls f(i, j) for element i (row-major) of an index that lies alongside x in all dimensions but `dim`, and the
/// element j of x, whose strides are given, that it names. In row-major order.
template <class F>
void each_place(std::string_view op, const Array& index, const Shape& x, const Dims& strides, int dim, F&& f) {
  const RowMajor<std::int64_t> indices(index);
  Dims beside = strides;
  beside[dim] = 0;
  const Rows<2> rows(index.shape, {contiguous_strides(index.shape), beside});
  rows.each([&](const auto& offsets) {
    for (std::int64_t k = 0; k < rows.length(); ++k) {
      const std::int64_t i = offsets[0] + k;
      require_index(op, indices[i], dim, x[dim]);
      f(i, offsets[1] + k * rows.steps()[1] + indices[i] * strides[dim]);
    }
  });
}

template <class Word>
void gather(const Array& x, const Array& index, const Array& z, int dim) {
  each_place(op::Gather::kName, index, x.shape, x.strides, dim,
             [&](std::int64_t to, std::int64_t from) { z.as<Word>()[to] = x.as<Word>()[from]; });
}

/// x cut around dimension `dim`: [outer, size, inner].
struct Slices {
  std::int64_t outer = 1, size, inner = 1;
  Slices(const Shape& x, int dim) : size(x[dim]) {
    for (int i = 0; i < dim; ++i) outer *= x[i];
    for (int i = dim + 1; i < x.size(); ++i) inner *= x[i];
  }
};

/// Calls f(slice of x, slice of the selection), counted in slices of `inner` elements, in row-major order of the latter.
template <class F>
void each_slice(std::string_view op, const Slices& slices, const Array& index, int dim, F&& f) {
  const RowMajor<std::int64_t> indices(index);
  const std::int64_t count = index.numel();
  for (std::int64_t i = 0; i < count; ++i) require_index(op, indices[i], dim, slices.size);
  for (std::int64_t outer = 0; outer < slices.outer; ++outer)
    for (std::int64_t i = 0; i < count; ++i) f(outer * slices.size + indices[i], outer * count + i);
}

/// The result of an op that adds to x, which it starts as.
template <class C>
Result<C> start_as(const Array& x, Value& value) {
  Result<C> result(value);
  const RowMajor<C> start(x);
  std::copy_n(start.data(), x.numel(), result.data());
  return result;
}

}  // namespace

void run(const op::Gather& op, Call call) {
  const Array x = read(call.in[op::Gather::x]), index = read(call.in[op::Gather::index]), z = allocate(call.out[0]);
  const int dim = wrap_dim(op::Gather::kName, op.dim, x.shape.size());
  switch (size_of(x.dtype)) {
    case 1: return gather<std::uint8_t>(x, index, z, dim);
    case 2: return gather<std::uint16_t>(x, index, z, dim);
    case 4: return gather<std::uint32_t>(x, index, z, dim);
    default: return gather<std::uint64_t>(x, index, z, dim);
  }
}

void run(const op::ScatterAdd& op, Call call) {
  using op::ScatterAdd;
  const Array x = read(call.in[ScatterAdd::x]), index = read(call.in[ScatterAdd::index]);
  const int dim = wrap_dim(ScatterAdd::kName, op.dim, x.shape.size());
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    Result<C> result = start_as<C>(x, call.out[0]);
    const RowMajor<C> source(read(call.in[ScatterAdd::source]));
    each_place(ScatterAdd::kName, index, x.shape, contiguous_strides(x.shape), dim,
               [&](std::int64_t from, std::int64_t to) { result[to] += source[from]; });
    result.store();
  });
}

void run(const op::Select& op, Call call) {
  Value held;
  const Array x = read_contiguous(call.in[op::Select::x], held), z = allocate(call.out[0]);
  const int dim = wrap_dim(op::Select::kName, op.dim, x.shape.size());
  const Slices slices(x.shape, dim);
  const std::size_t bytes = static_cast<std::size_t>(slices.inner) * size_of(x.dtype);
  each_slice(op::Select::kName, slices, read(call.in[op::Select::index]), dim, [&](std::int64_t from, std::int64_t to) {
    std::memcpy(z.data + static_cast<std::size_t>(to) * bytes, x.data + static_cast<std::size_t>(from) * bytes, bytes);
  });
}

void run(const op::SelectAdd& op, Call call) {
  using op::SelectAdd;
  const Array x = read(call.in[SelectAdd::x]), index = read(call.in[SelectAdd::index]);
  const int dim = wrap_dim(SelectAdd::kName, op.dim, x.shape.size());
  const Slices slices(x.shape, dim);
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    Result<C> result = start_as<C>(x, call.out[0]);
    const RowMajor<C> source(read(call.in[SelectAdd::source]));
    each_slice(SelectAdd::kName, slices, index, dim, [&](std::int64_t to, std::int64_t from) {
      for (std::int64_t i = 0; i < slices.inner; ++i) result[to * slices.inner + i] += source[from * slices.inner + i];
    });
    result.store();
  });
}

}  // namespace kiln::cpu::reference
