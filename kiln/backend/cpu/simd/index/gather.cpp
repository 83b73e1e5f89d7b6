// Reads by index. Elements are moved as words of their size. Each task writes its own part of the result.
#include <algorithm>
#include <cstring>

#include "kiln/backend/cpu/copy_bytes.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/index/indices.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/index/index_ops.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 16384;   // the minimum number of elements per thread
constexpr std::int64_t kColumns = 64;    // the columns of a row that one task gathers
constexpr std::int64_t kCache = 262144;  // up to so many bytes of x stay in the cache anyway
constexpr std::int64_t kPart = 65536;    // the minimum number of bytes of a long row per thread
constexpr std::int64_t kBlock = 2048;    // so few indices stay in the first-level cache between check and use

/// z[k] = x[index[k] * stride + k * step]. Not inlined: inside the loops over rows, gcc would have no registers left
/// for this loop.
template <class Word>
[[gnu::noinline]] void gather_run(const Word* x, std::int64_t stride, std::int64_t step, const std::int64_t* index,
                                  Word* z, std::int64_t count) {
  if (step == 0 && stride == 1)
#pragma GCC unroll 8
    for (std::int64_t k = 0; k < count; ++k) z[k] = x[index[k]];
  else
    for (std::int64_t k = 0; k < count; ++k) z[k] = x[index[k] * stride + k * step];
}

template <class Word>
void gather(const Array& x, const Indices& index, const Array& z, int dim) {
  const std::int64_t size = x.shape[dim], stride = x.strides[dim];
  Dims beside = x.strides;
  beside[dim] = 0;
  const Rows<2> rows(z.shape, {z.strides, beside});
  const std::int64_t length = rows.length(), step = rows.steps()[1];
  parallel_for(z.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t at = begin;
    rows.each(begin / length, (end + length - 1) / length, [&](const auto& offsets) {
      const std::int64_t row_end = std::min(end, at - at % length + length);
      while (at < row_end) {
        const std::int64_t count = std::min(kBlock, row_end - at);
        index.check(op::Gather::kName, dim, size, at, at + count);
        gather_run(x.as<Word>() + offsets[1] + at % length * step, stride, step, index.data() + at, z.as<Word>() + at,
                   count);
        at += count;
      }
    });
  });
}

/// Gathers x [outer, size, inner] -> z [outer, count, inner] in blocks of columns, for rows so long that a few of them
/// displace each other in the cache.
template <class Word>
void gather_columns(const Lines& slices, const Lines& result, const Word* x, const Indices& index, Word* z, int dim) {
  const std::int64_t inner = slices.inner, blocks = (inner + kColumns - 1) / kColumns;
  index.check(op::Gather::kName, dim, slices.length);
  parallel_for(result.outer * blocks, std::max<std::int64_t>(1, kGrain / (kColumns * result.length)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t piece = begin; piece < end; ++piece) {
                   const std::int64_t outer = piece / blocks, first = piece % blocks * kColumns;
                   const std::int64_t count = std::min(kColumns, inner - first);
                   const Word* from = x + outer * slices.length * inner + first;
                   for (std::int64_t k = 0; k < result.length; ++k) {
                     const std::int64_t at = (outer * result.length + k) * inner + first;
                     gather_run(from, inner, 1, index.data() + at, z + at, count);
                   }
                 }
               });
}

/// Returns whether gather_columns() is faster: x is large, and the index covers whole, long rows of it.
bool columns_are_faster(const Array& x, const Shape& index, int dim, const Lines& slices) {
  for (int i = 1; i < x.shape.size(); ++i)
    if (i != dim && index[i] != x.shape[i]) return false;
  const std::int64_t bytes = slices.length * slices.inner * static_cast<std::int64_t>(size_of(x.dtype));
  return x.contiguous() && slices.inner >= 2 * kColumns && bytes >= kCache;
}

template <class Word>
void gather_words(const Array& x, const Indices& index, const Array& z, int dim) {
  const Lines slices(x.shape, dim);
  if (columns_are_faster(x, z.shape, dim, slices))
    gather_columns(slices, Lines(z.shape, dim), x.as<const Word>(), index, z.as<Word>(), dim);
  else gather<Word>(x, index, z, dim);
}

struct Word16 {
  std::uint64_t halves[2];
};

/// Writes rows [begin, end) of z, which has outer * count rows of `bytes` bytes. Row o * count + i of z is row
/// o * size + index[i] of x, whose rows are `row_stride` bytes apart.
using CopyRows = void (*)(const std::byte* x, std::size_t row_stride, std::size_t bytes, std::int64_t size,
                          const std::int64_t* index, std::int64_t count, std::byte* z, std::int64_t begin,
                          std::int64_t end);

template <class Move>
void copy_rows(const std::byte* x, std::size_t row_stride, std::size_t bytes, std::int64_t size,
               const std::int64_t* index, std::int64_t count, std::byte* z, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t outer = row / count, first = row % count, last = std::min(count, first + end - row);
    const std::byte* from = x + static_cast<std::size_t>(outer * size) * row_stride;
    std::byte* to = z + static_cast<std::size_t>(row) * bytes;
    for (std::int64_t i = first; i < last; ++i, to += bytes)
      Move::move(from + static_cast<std::size_t>(index[i]) * row_stride, to, bytes);
    row += last - first;
  }
}

/// Moves a row of a size known at compile time, which takes one instruction.
template <class Word>
struct MoveWord {
  static void move(const std::byte* from, std::byte* to, std::size_t) { std::memcpy(to, from, sizeof(Word)); }
};
struct MoveBytes {
  static void move(const std::byte* from, std::byte* to, std::size_t bytes) { copy_bytes(to, from, bytes); }
};

CopyRows copy_rows_of(std::size_t bytes) {
  switch (bytes) {
    case 1: return &copy_rows<MoveWord<std::uint8_t>>;
    case 2: return &copy_rows<MoveWord<std::uint16_t>>;
    case 4: return &copy_rows<MoveWord<std::uint32_t>>;
    case 8: return &copy_rows<MoveWord<std::uint64_t>>;
    case 16: return &copy_rows<MoveWord<Word16>>;
    default: return &copy_rows<MoveBytes>;
  }
}

/// Copies all rows of z where they are so long that several threads copy parts of each.
void copy_long_rows(const std::byte* x, std::size_t row_stride, std::size_t bytes, const Lines& slices,
                    const Indices& index, std::byte* z) {
  const std::int64_t count = index.count(), all = static_cast<std::int64_t>(bytes), parts = (all + kPart - 1) / kPart;
  parallel_for(slices.outer * count * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t row = item / parts, first = item % parts * kPart;
      const std::int64_t from = row / count * slices.length + index.data()[row % count];
      copy_bytes(z + static_cast<std::size_t>(row) * bytes + first,
                 x + static_cast<std::size_t>(from) * row_stride + first,
                 static_cast<std::size_t>(std::min(kPart, all - first)));
    }
  });
}

/// Copies slices of an x that is not row-major, one by one. This is for so few indices that a row-major copy of x would
/// cost more.
void copy_slices(const Array& x, int dim, const Indices& index, const Array& z) {
  const auto element = static_cast<std::ptrdiff_t>(size_of(x.dtype));
  const int added = z.shape.size() - x.shape.size();
  Array from{.data = x.data, .dtype = x.dtype, .shape = {}, .strides = {}}, to = from;
  std::int64_t inner = 1;
  for (int d = 0; d < x.shape.size(); ++d) {
    if (d == dim) continue;
    if (d > dim) inner *= x.shape[d];
    from.shape.push_back(x.shape[d]);
    from.strides.push_back(x.strides[d]);
    to.strides.push_back(z.strides[d < dim ? d : d + added]);
  }
  to.shape = from.shape;
  for (std::int64_t i = 0; i < index.count(); ++i) {
    from.data = x.data + index.data()[i] * x.strides[dim] * element;
    to.data = z.data + i * inner * element;
    copy(from, to);
  }
}

}  // namespace

bool run(const op::Gather& op, Call call) {
  const Array x = read(call.in[op::Gather::x]), z = allocate(call.out[0]);
  const Indices index(call.in[op::Gather::index]);
  const int dim = wrap_dim(op::Gather::kName, op.dim, x.shape.size());
  visit_word(size_of(x.dtype), [&]<class Word>(TypeTag<Word>) { gather_words<Word>(x, index, z, dim); });
  return true;
}

bool run(const op::Select& op, Call call) {
  constexpr std::int64_t kMostOfAll = 4;
  const int dim = wrap_dim(op::Select::kName, op.dim, call.in[op::Select::x].rank());
  Array x = read(call.in[op::Select::x]);
  const Lines slices(x.shape, dim);
  // The rows of a single table may be apart, as in a slice of a wider table.
  Array row = x;
  row.shape = Shape(x.shape.begin() + dim + 1, x.shape.end());
  row.strides = Dims(x.strides.begin() + dim + 1, x.strides.end());
  Value held;
  std::int64_t row_stride = x.strides[dim];
  const Indices index(call.in[op::Select::index]);
  if (slices.outer > 1 || !row.contiguous() || row_stride < slices.inner) {
    if (!x.contiguous() && index.count() <= slices.length / kMostOfAll) {
      index.check(op::Select::kName, dim, slices.length);
      copy_slices(x, dim, index, allocate(call.out[0]));
      return true;
    }
    x = read_contiguous(call.in[op::Select::x], held);
    row_stride = slices.inner;
  }
  const Array z = allocate(call.out[0]);
  const std::size_t element = size_of(x.dtype), bytes = static_cast<std::size_t>(slices.inner) * element;
  const bool long_rows = static_cast<std::int64_t>(bytes) >= 2 * kPart;
  // The indices of a single table are checked block by block just before their use, unless several threads use each of
  // them.
  const bool single = slices.outer == 1 && z.numel() > 0 && !long_rows;
  if (!single) index.check(op::Select::kName, dim, slices.length);
  if (z.numel() == 0) return true;
  if (long_rows) {
    copy_long_rows(x.data, static_cast<std::size_t>(row_stride) * element, bytes, slices, index, z.data);
    return true;
  }
  const CopyRows copy = copy_rows_of(bytes);
  parallel_for(slices.outer * index.count(), std::max<std::int64_t>(1, 4 * kGrain / static_cast<std::int64_t>(bytes)),
               [&](std::int64_t begin, std::int64_t end) {
                 const std::int64_t together = single ? kBlock : end - begin;
                 for (std::int64_t at = begin; at < end; at += together) {
                   const std::int64_t last = std::min(end, at + together);
                   if (single) index.check(op::Select::kName, dim, slices.length, at, last);
                   copy(x.data, static_cast<std::size_t>(row_stride) * element, bytes, slices.length, index.data(),
                        index.count(), z.data, at, last);
                 }
               });
  return true;
}

bool run(const op::RavelIndex& op, Call call) {
  const Array z = allocate(call.out[0]);
  std::int64_t* at = z.as<std::int64_t>();
  for (int i = 0; i < op.shape.size(); ++i) {
    const Indices index(call.in[static_cast<std::size_t>(i)], z.shape);
    const std::int64_t size = op.shape[i];
    parallel_for(z.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t outside = 0;
      for (std::int64_t k = begin; k < end; ++k) {
        const std::int64_t raw = index.data()[k], wrapped = raw < 0 ? raw + size : raw;
        outside |= range_sign(wrapped, size);
        at[k] = wrapping_add(i == 0 ? 0 : wrapping_multiply(at[k], size), wrapped);
      }
      if (outside >= 0) return;
      for (std::int64_t k = begin; k < end; ++k)
        require<IndexError>(-size <= index.data()[k] && index.data()[k] < size, op::RavelIndex::kName, ": index ",
                            index.data()[k], " is out of range for size ", size, " in ", op.shape);
    });
  }
  return true;
}

}  // namespace kiln::cpu::simd
