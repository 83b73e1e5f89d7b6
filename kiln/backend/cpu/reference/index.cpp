#include <algorithm>
#include <cstring>

#include "kiln/backend/cpu/copy_bytes.hpp"
#include "kiln/backend/cpu/lines.hpp"
#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/core/wrapping.hpp"
#include "kiln/ops/index/index_ops.hpp"

namespace kiln::cpu::reference {
namespace {

void require_index(std::string_view op, std::int64_t index, int dim, std::int64_t size) {
  require<IndexError>(index >= 0 && index < size, op, ": index ", index, " is out of range for dimension ", dim,
                      " of size ", size);
}

/// Calls f(i, j) for each element i of an index, in row-major order, where j is the element of x that it names. The
/// index is aligned with x in all dimensions but `dim`; `strides` are those of x.
template <class F>
void each_indexed(std::string_view op, const Array& index, const Shape& x, const Dims& strides, int dim, F&& f) {
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
  each_indexed(op::Gather::kName, index, x.shape, x.strides, dim,
               [&](std::int64_t to, std::int64_t from) { z.as<Word>()[to] = x.as<Word>()[from]; });
}

/// Calls f(slice of x, slice of the selection), numbers of slices of `inner` elements, in order of the selection.
template <class F>
void each_slice(std::string_view op, const Lines& slices, const Array& index, int dim, F&& f) {
  const RowMajor<std::int64_t> indices(index);
  const std::int64_t count = index.numel();
  for (std::int64_t i = 0; i < count; ++i) require_index(op, indices[i], dim, slices.length);
  for (std::int64_t outer = 0; outer < slices.outer; ++outer)
    for (std::int64_t i = 0; i < count; ++i) f(outer * slices.length + indices[i], outer * count + i);
}

/// Calls f with the function that computes the new element from the old one and the one written.
template <class C, class F>
void visit_update(Update update, F&& f) {
  switch (update) {
    case Update::Assign: return f([](C, C b) { return b; });
    case Update::Add: return f([](C a, C b) { return wrapping_add(a, b); });
    case Update::Mul: return f([](C a, C b) { return wrapping_multiply(a, b); });
    case Update::Min: return f([](C a, C b) { return b != b || b < a ? b : a; });
    case Update::Max: return f([](C a, C b) { return b != b || b > a ? b : a; });
  }
}

/// z = x, and then z[to] = update(z[to], source[from]) for each pair (from, to) that each_pair(f) gives to f.
template <class Op, class EachPair>
void update(const Op& op, Call call, EachPair each_pair) {
  const Array x = read(call.in[Op::x]);
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    Result<C> result(call.out[0]);
    const RowMajor<C> start(x), source(read(call.in[Op::source]));
    std::copy_n(start.data(), x.numel(), result.data());
    visit_update<C>(op.update, [&](auto f) {
      each_pair([&](std::int64_t from, std::int64_t to) { result[to] = f(result[to], source[from]); });
    });
    result.store();
  });
}

/// Works in place where possible, as caches of attention need.
void assign_slices(const op::SelectUpdate& op, Call call, const Lines& slices, const Array& index, int dim) {
  using op::SelectUpdate;
  Value held;
  const Array x = read(call.in[SelectUpdate::x]), source = read_contiguous(call.in[SelectUpdate::source], held);
  const bool in_place = reuse_memory(call.out[0], contiguous_strides(x.shape), call, SelectUpdate::x);
  const Array z = allocate(call.out[0]);
  if (!in_place) copy(x, z);
  const std::size_t bytes = static_cast<std::size_t>(slices.inner) * size_of(x.dtype);
  each_slice(op.function_name(), slices, index, dim, [&](std::int64_t to, std::int64_t from) {
    std::memcpy(z.data + static_cast<std::size_t>(to) * bytes, source.data + static_cast<std::size_t>(from) * bytes,
                bytes);
  });
}

}  // namespace

template <>
void run(const op::Gather& op, Call call) {
  const Array x = read(call.in[op::Gather::x]), index = read(call.in[op::Gather::index]), z = allocate(call.out[0]);
  const int dim = wrap_dim(op::Gather::kName, op.dim, x.shape.size());
  visit_word(size_of(x.dtype), [&]<class Word>(TypeTag<Word>) { gather<Word>(x, index, z, dim); });
}

template <>
void run(const op::Scatter& op, Call call) {
  const Array index = read(call.in[op::Scatter::index]);
  const Shape& shape = call.in[op::Scatter::x].shape();
  const int dim = wrap_dim(op.function_name(), op.dim, shape.size());
  update(op, call, [&](auto f) { each_indexed(op.function_name(), index, shape, contiguous_strides(shape), dim, f); });
}

template <>
void run(const op::Select& op, Call call) {
  Value held;
  const Array x = read_contiguous(call.in[op::Select::x], held), z = allocate(call.out[0]);
  const int dim = wrap_dim(op::Select::kName, op.dim, x.shape.size());
  const Lines slices(x.shape, dim);
  const std::size_t bytes = static_cast<std::size_t>(slices.inner) * size_of(x.dtype);
  each_slice(op::Select::kName, slices, read(call.in[op::Select::index]), dim, [&](std::int64_t from, std::int64_t to) {
    std::memcpy(z.data + static_cast<std::size_t>(to) * bytes, x.data + static_cast<std::size_t>(from) * bytes, bytes);
  });
}

template <>
void run(const op::SelectUpdate& op, Call call) {
  const Array index = read(call.in[op::SelectUpdate::index]);
  const Shape& shape = call.in[op::SelectUpdate::x].shape();
  const int dim = wrap_dim(op.function_name(), op.dim, shape.size());
  const Lines slices(shape, dim);
  if (op.update == Update::Assign) return assign_slices(op, call, slices, index, dim);
  update(op, call, [&](auto f) {
    each_slice(op.function_name(), slices, index, dim, [&](std::int64_t to, std::int64_t from) {
      for (std::int64_t i = 0; i < slices.inner; ++i) f(from * slices.inner + i, to * slices.inner + i);
    });
  });
}

template <>
void run(const op::RavelIndex& op, Call call) {
  const Array z = allocate(call.out[0]);
  const std::int64_t count = z.numel();
  std::int64_t* at = z.as<std::int64_t>();
  std::fill_n(at, count, 0);
  for (int i = 0; i < op.shape.size(); ++i) {
    const std::int64_t size = op.shape[i];
    const RowMajor<std::int64_t> index(broadcast_to(read(call.in[static_cast<std::size_t>(i)]), z.shape));
    for (std::int64_t k = 0; k < count; ++k) {
      require<IndexError>(-size <= index[k] && index[k] < size, op::RavelIndex::kName, ": index ", index[k],
                          " is out of range for size ", size, " in ", op.shape);
      at[k] = at[k] * size + (index[k] < 0 ? index[k] + size : index[k]);
    }
  }
}

template <>
void run(const op::Nonzero& op, Call call) {
  Value held;
  const Array x = read_contiguous(call.in[0], held), z = allocate(call.out[0]);
  const auto* flags = x.as<std::uint8_t>();
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (!flags[i]) continue;
    require<ArgumentError>(found < op.count, op::Nonzero::kName, ": more than ", op.count, " elements are true");
    z.as<std::int64_t>()[found++] = i;
  }
  require<ArgumentError>(found == op.count, op::Nonzero::kName, ": ", found, " elements are true, not ", op.count);
}

}  // namespace kiln::cpu::reference
