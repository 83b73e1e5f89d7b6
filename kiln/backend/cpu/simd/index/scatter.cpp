// Writes by index. Each element of the result is updated by one thread, in the order of the source, so the bits do not
// depend on how the work is split. It is split across the other dimensions if these give enough pieces, and otherwise
// into ranges of destinations, by which the indices are sorted first.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kiln/backend/cpu/copy_bytes.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/backend/cpu/simd/index/indices.hpp"
#include "kiln/backend/cpu/simd/index/update.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/index/index_ops.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 16384;  // the minimum number of elements per thread
constexpr std::int64_t kColumns = 64;   // the columns of a row that one task updates
constexpr std::int64_t kWideRow = 16;   // the shortest row that is worth a call
constexpr std::int64_t kFewPieces = 8;  // indices are sorted if there are fewer pieces
constexpr std::int64_t kWorthSort = 65536;
constexpr std::int64_t kCache = std::int64_t{2} << 20;  // up to so many bytes of the result stay in the cache anyway
constexpr int kThreadsForSort = 4;

template <class T>
constexpr std::int64_t bytes_of = static_cast<std::int64_t>(sizeof(T));

template <Update update>
using Mode = std::integral_constant<Update, update>;

template <class T, class F>
void visit_update(Update update, F&& f) {
  if constexpr (std::is_unsigned_v<T>) {
    f(Mode<Update::Assign>());
  } else {
    switch (update) {
      case Update::Assign: return f(Mode<Update::Assign>());
      case Update::Add: return f(Mode<Update::Add>());
      case Update::Mul: return f(Mode<Update::Mul>());
      case Update::Min: return f(Mode<Update::Min>());
      case Update::Max: return f(Mode<Update::Max>());
    }
  }
}

// ---- indices sorted to ranges of destinations ----------------------------------------------------------------------

/// An index (to) and its position in the list of indices (from).
struct SortedIndex {
  std::uint32_t to, from;
};

class RangeSorted {
 public:
  static bool fits(std::int64_t size, std::int64_t count) { return size < kMost && count < kMost; }
  RangeSorted(const std::int64_t* index, std::int64_t count, std::int64_t size);
  /// Calls f(to, from) for the entries of each range, in the order of the list. Each range is visited by one thread.
  template <class F>
  void each(F&& f) const {
    const auto* entries = reinterpret_cast<const SortedIndex*>(memory_.bytes());
    parallel_for(kRanges, 1, [&](std::int64_t range, std::int64_t) {
      const auto at = static_cast<std::size_t>(range);
      for (std::int64_t i = starts_[at]; i < starts_[at + 1]; ++i) f(entries[i].to, entries[i].from);
    });
  }

 private:
  static constexpr std::int64_t kRanges = 16, kMost = std::int64_t{1} << 32;
  static constexpr std::int64_t kPiece = 32768;  // the entries that one thread sorts at a time
  Memory memory_;
  std::array<std::int64_t, kRanges + 1> starts_{};
};

RangeSorted::RangeSorted(const std::int64_t* index, std::int64_t count, std::int64_t size)
    : memory_(static_cast<std::size_t>(count) * sizeof(SortedIndex)) {
  int shift = 0;
  while ((size - 1) >> shift >= kRanges) ++shift;
  // places[piece][range] is first the number of entries of a piece in a range, and then the position
  // of the next of them.
  const std::int64_t size_of_piece = limited_grain(kPiece), pieces = (count + size_of_piece - 1) / size_of_piece;
  std::vector<std::array<std::int64_t, kRanges>> places(static_cast<std::size_t>(pieces));
  parallel_chunks(count, size_of_piece, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kRanges> counts{};
    for (std::int64_t i = begin; i < end; ++i) ++counts[static_cast<std::size_t>(index[i] >> shift)];
    places[static_cast<std::size_t>(begin / size_of_piece)] = counts;
  });
  std::int64_t next = 0;
  for (std::size_t range = 0; range < kRanges; ++range) {
    starts_[range] = next;
    for (auto& piece : places) next += std::exchange(piece[range], next);
  }
  starts_[kRanges] = next;
  auto* entries = reinterpret_cast<SortedIndex*>(memory_.bytes());
  parallel_chunks(count, size_of_piece, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kRanges>& place = places[static_cast<std::size_t>(begin / size_of_piece)];
    for (std::int64_t i = begin; i < end; ++i)
      entries[place[static_cast<std::size_t>(index[i] >> shift)]++] = {static_cast<std::uint32_t>(index[i]),
                                                                       static_cast<std::uint32_t>(i)};
  });
}

/// Returns whether sorting pays, which it can if the other dimensions give only `pieces` pieces. Sorting costs about
/// three times as much as the updates while the result stays in a cache, and nothing in comparison if it does not. The
/// bits are the same either way.
bool sorting_is_faster(std::int64_t pieces, std::int64_t work, std::int64_t size, std::int64_t count,
                       std::int64_t bytes) {
  return pieces < kFewPieces && work >= limited_grain(kWorthSort) && RangeSorted::fits(size, count) &&
         num_threads() >= (bytes > kCache ? 2 : kThreadsForSort);
}

// ---- one index for each element ------------------------------------------------------------------------------------

/// Scatters source and index [outer, count, inner] -> z [outer, size, inner]. If `step` is 0, the source is a single
/// element for all, and `inner` must be 1.
template <class T, Update update>
void scatter(const Lines& z_slices, std::int64_t outer, std::int64_t count, const std::int64_t* index, const T* source,
             std::int64_t step, T* z) {
  const std::int64_t inner = z_slices.inner, size = z_slices.length;
  const std::int64_t width = std::min(inner, kColumns), blocks = (inner + width - 1) / width, pieces = outer * blocks;
  if (sorting_is_faster(pieces, outer * count * inner, size, count * inner, size * inner * bytes_of<T>)) {
    for (std::int64_t o = 0; o < outer; ++o) {
      const T* from = source + o * count * inner * step;
      T* to = z + o * size * inner;
      const auto columns = static_cast<std::uint32_t>(inner);
      RangeSorted(index + o * count * inner, count * inner, size).each([&](std::uint32_t t, std::uint32_t f) {
        T& element = to[t * inner + (columns == 1 ? 0 : f % columns)];
        element = updated<update>(element, from[f * step]);
      });
    }
    return;
  }
  parallel_for(pieces, std::max<std::int64_t>(1, kGrain / (count * width)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t o = piece / blocks, first = piece % blocks * width, last = std::min(inner, first + width);
      const std::int64_t* at = index + o * count * inner;
      const T* from = source + o * count * inner * step;
      T* to = z + o * size * inner;
      if (inner == 1) {
        if (step == 0)
          for (std::int64_t k = 0; k < count; ++k) to[at[k]] = updated<update>(to[at[k]], *from);
        else
          for (std::int64_t k = 0; k < count; ++k) to[at[k]] = updated<update>(to[at[k]], from[k]);
        continue;
      }
      for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t c = first; c < last; ++c) {
          T& element = to[at[k * inner + c] * inner + c];
          element = updated<update>(element, from[k * inner + c]);
        }
    }
  });
}

/// A copy of halves as floats, which `held` keeps alive.
struct FloatCopy {
  Value held;
  Array array;
};

FloatCopy widened_copy(const Array& x, const Device& device) {
  FloatCopy copy{Value(make_ref<Node>(Desc{x.shape, DType::F32}, device)), {}};
  copy.array = allocate(copy.held, MemoryUse::Scratch);
  const auto size = static_cast<std::int64_t>(size_of(x.dtype));
  parallel_for(x.numel(), 4 * kGrain, [&](std::int64_t begin, std::int64_t end) {
    convert(x.dtype, x.data + begin * size, DType::F32, copy.array.as<float>() + begin, end - begin);
  });
  return copy;
}

// ---- one index for each slice --------------------------------------------------------------------------------------

/// Updates slices of z [outer, size, inner] with those of source [outer, count, inner].
template <class T, Update update>
void select_update(const Lines& slices, std::int64_t count, const std::int64_t* index, const T* source, T* z) {
  const std::int64_t inner = slices.inner, size = slices.length;
  const UpdateRow<T> row(update);
  const auto write = [&](T* to, const T* from, std::int64_t n) {
    if (n >= kWideRow) return row(to, from, n);
    for (std::int64_t i = 0; i < n; ++i) to[i] = updated<update>(to[i], from[i]);
  };
  const std::int64_t width = std::min(inner, kColumns), blocks = (inner + width - 1) / width;
  const std::int64_t pieces = slices.outer * blocks;
  if (sorting_is_faster(pieces, pieces * width * count, size, count, size * inner * bytes_of<T>)) {
    const RangeSorted sorted(index, count, size);
    for (std::int64_t o = 0; o < slices.outer; ++o)
      sorted.each([&](std::uint32_t t, std::uint32_t f) {
        write(z + (o * size + t) * inner, source + (o * count + f) * inner, inner);
      });
    return;
  }
  parallel_for(pieces, std::max<std::int64_t>(1, kGrain / (count * width)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t o = piece / blocks, first = piece % blocks * width, n = std::min(width, inner - first);
      const T* from = source + o * count * inner + first;
      T* to = z + o * size * inner + first;
      for (std::int64_t i = 0; i < count; ++i) write(to + index[i] * inner, from + i * inner, n);
    }
  });
}

/// select_update() for halves. All updates of one element are computed in float and rounded once, for which the indices
/// are sorted completely.
void select_update_halves(const Lines& slices, std::int64_t count, const std::int64_t* index, const Array& source,
                          const Array& z, Update update) {
  constexpr std::int64_t kWidth = 256, kPlaces = 1024;
  const std::int64_t inner = slices.inner, size = slices.length;
  std::vector<std::int64_t> starts(static_cast<std::size_t>(size) + 1, 0), order(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) ++starts[static_cast<std::size_t>(index[i]) + 1];
  for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
  for (std::int64_t i = 0; i < count; ++i)
    order[static_cast<std::size_t>(next[static_cast<std::size_t>(index[i])]++)] = i;

  const std::int64_t blocks = (inner + kWidth - 1) / kWidth, parts = (size + kPlaces - 1) / kPlaces;
  const UpdateRow<float> row(update);
  const auto run_piece = [&](std::int64_t outer, std::int64_t part, std::int64_t block) {
    float sum[kWidth], written[kWidth];
    const std::int64_t first = block * kWidth, n = std::min(kWidth, inner - first);
    for (std::int64_t place = part * kPlaces; place < std::min(size, (part + 1) * kPlaces); ++place) {
      const std::int64_t begin = starts[static_cast<std::size_t>(place)],
                         end = starts[static_cast<std::size_t>(place) + 1];
      if (begin == end) continue;
      std::byte* to = z.data + 2 * ((outer * size + place) * inner + first);
      convert(z.dtype, to, DType::F32, sum, n);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t from = (outer * count + order[static_cast<std::size_t>(i)]) * inner + first;
        convert(z.dtype, source.data + 2 * from, DType::F32, written, n);
        row(sum, written, n);
      }
      convert(DType::F32, sum, z.dtype, to, n);
    }
  };
  const std::int64_t pieces = slices.outer * parts * blocks;
  const std::int64_t work = std::max<std::int64_t>(1, slices.outer * (count * inner + size) / pieces);
  parallel_for(pieces, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece)
      run_piece(piece / blocks / parts, piece / blocks % parts, piece % blocks);
  });
}

// ---- element types -------------------------------------------------------------------------------------------------

bool takes(Update update, DType dtype) {
  return update == Update::Assign || is_float(dtype) || dtype == DType::I64 || dtype == DType::I32;
}

/// Calls f(TypeTag<T>) with the type in which to update. Halves are floats by now, unless they are assigned.
template <class F>
void visit_element(Update update, DType dtype, F&& f) {
  if (update == Update::Assign) return visit_word(size_of(dtype), f);
  switch (dtype) {
    case DType::F64: return f(TypeTag<double>{});
    case DType::F32: return f(TypeTag<float>{});
    case DType::I64: return f(TypeTag<std::int64_t>{});
    default: return f(TypeTag<std::int32_t>{});
  }
}

}  // namespace

bool run(const op::Scatter& op, Call call) {
  using op::Scatter;
  const Shape &shape = call.in[Scatter::x].shape(), &index_shape = call.in[Scatter::index].shape();
  const int dim = wrap_dim(op.function_name(), op.dim, shape.size());
  if (!takes(op.update, call.in[Scatter::x].dtype())) return false;
  // The index may cover a part of dimension 0, but must cover all other dimensions, so that slices are whole.
  for (int i = 0; i < shape.size(); ++i)
    if (i != dim && index_shape[i] != shape[i] && (i > 0 || dim == 0)) return false;
  const Lines slices(shape, dim), covered(index_shape, dim);

  const Array z = allocate(call.out[0]);
  copy(read(call.in[Scatter::x]), z);
  if (numel(index_shape) == 0) return true;
  const Indices index(call.in[Scatter::index]);
  index.check(op.function_name(), dim, slices.length);
  Value held;
  Array source = read(call.in[Scatter::source]), target = z;
  const bool same = slices.inner == 1 && std::all_of(source.strides.begin(), source.strides.end(),
                                                     [](std::int64_t stride) { return stride == 0; });
  if (same) source.shape = Shape::filled(source.shape.size(), 1);
  else source = read_contiguous(call.in[Scatter::source], held);
  FloatCopy wide_source, wide_target;
  const bool widen = is_half(z.dtype) && op.update != Update::Assign;
  if (widen) {
    wide_source = widened_copy(source, call.out[0].device());
    wide_target = widened_copy(z, call.out[0].device());
    source = wide_source.array;
    target = wide_target.array;
  }
  visit_element(op.update, target.dtype, [&]<class T>(TypeTag<T>) {
    visit_update<T>(op.update, [&]<Update update>(Mode<update>) {
      scatter<T, update>(slices, covered.outer, covered.length, index.data(), source.as<const T>(), same ? 0 : 1,
                         target.as<T>());
    });
  });
  if (widen)
    parallel_for(z.numel(), 4 * kGrain, [&](std::int64_t begin, std::int64_t end) {
      convert(DType::F32, target.as<float>() + begin, z.dtype, z.data + 2 * begin, end - begin);
    });
  return true;
}

bool run(const op::SelectUpdate& op, Call call) {
  using op::SelectUpdate;
  const Shape& shape = call.in[SelectUpdate::x].shape();
  const int dim = wrap_dim(op.function_name(), op.dim, shape.size());
  if (!takes(op.update, call.in[SelectUpdate::x].dtype())) return false;
  const Lines slices(shape, dim);

  const Indices index(call.in[SelectUpdate::index]);
  index.check(op.function_name(), dim, slices.length);
  const bool in_place = reuse_memory(call.out[0], contiguous_strides(shape), call, SelectUpdate::x);
  const Array z = allocate(call.out[0]);
  if (!in_place) copy(read(call.in[SelectUpdate::x]), z);
  if (index.count() == 0 || z.numel() == 0) return true;
  Value held;
  const Array source = read_contiguous(call.in[SelectUpdate::source], held);
  if (is_half(z.dtype) && op.update != Update::Assign) {
    select_update_halves(slices, index.count(), index.data(), source, z, op.update);
    return true;
  }
  visit_element(op.update, z.dtype, [&]<class T>(TypeTag<T>) {
    visit_update<T>(op.update, [&]<Update update>(Mode<update>) {
      select_update<T, update>(slices, index.count(), index.data(), source.as<const T>(), z.as<T>());
    });
  });
  return true;
}

}  // namespace kiln::cpu::simd
