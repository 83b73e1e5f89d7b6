#include "kiln/ops/view/assemble_ops.hpp"

#include <algorithm>
#include <optional>

#include "kiln/backend/cpu/copy_bytes.hpp"
#include "kiln/backend/cpu/memory_order.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::reference {
namespace {

/// Returns channels-last strides where all parts are in that order and some part is not in row-major order as well: the
/// whole then has the order of its parts. Returns row-major strides otherwise.
Dims order_of(const Shape& whole, std::span<const Value> parts) {
  const Dims rows = contiguous_strides(whole);
  if (whole.size() < 3) return rows;
  bool all_rows = true;
  for (const Value& part : parts) {
    const Array x = read(part);
    if (!has_strides(x, channels_last_strides(x.shape))) return rows;
    all_rows = all_rows && has_strides(x, contiguous_strides(x.shape));
  }
  return all_rows ? rows : channels_last_strides(whole);
}

/// Rows of bytes, each of which begins `stride` bytes after the one before it.
struct ByteRows {
  const std::byte* data;
  std::int64_t stride, length;
};

/// Interleaves single elements of many parts, `count` of each, so that neighbours in the result are written together.
template <class Word>
void interleave(const SpareVector<ByteRows>& parts, std::int64_t first, std::int64_t count, std::byte* z) {
  constexpr std::int64_t kPerCacheLine = 64 / sizeof(Word);  // elements of a part that share a cache line
  const auto width = static_cast<std::int64_t>(parts.size());
  for (std::int64_t at = first; at < first + count; at += kPerCacheLine) {
    const std::int64_t some = std::min(kPerCacheLine, first + count - at);
    auto* const to = reinterpret_cast<Word*>(z) + at * width;
    for (std::int64_t k = 0; k < width; ++k) {
      const auto* const from = reinterpret_cast<const Word*>(parts[static_cast<std::size_t>(k)].data) + at;
      for (std::int64_t i = 0; i < some; ++i) to[i * width + k] = from[i];
    }
  }
}

/// Returns x as rows that each hold all dimensions from `dim` on; nothing where it is not stored so.
std::optional<ByteRows> byte_rows(const Array& x, int dim) {
  const auto size = static_cast<std::int64_t>(size_of(x.dtype));
  const Shape row(x.shape.begin() + dim, x.shape.end());
  Array one = x;
  one.shape = row;
  one.strides = Dims(x.strides.begin() + dim, x.strides.end());
  if (!one.contiguous()) return std::nullopt;
  for (int i = 0; i + 1 < dim; ++i)
    if (x.strides[i] != x.strides[i + 1] * x.shape[i + 1]) return std::nullopt;
  return ByteRows{x.data, x.strides[dim - 1] * size, numel(row) * size};
}

/// Joins parts of which some have few bytes in a row of the result: the result is written from end to end. Returns
/// false, without any effect, for other parts.
bool cat_short(const op::Cat& op, Call call, std::int64_t grain) {
  constexpr std::int64_t kShortBytes = 512, kRowBytes = 65536;
  const Desc& whole = call.out[0].node()->desc;
  const int dim = wrap_dim(op::Cat::kName, op.dim, whole.shape.size());
  const auto size = static_cast<std::int64_t>(size_of(whole.dtype));
  std::int64_t rows = 1, row_bytes = 0, shortest = kRowBytes;
  for (int i = 0; i < dim; ++i) rows *= whole.shape[i];
  if (rows < 2 || whole.shape[dim] == 0 || call.in.size() < 2) return false;
  SpareVector<ByteRows> parts;
  bool single = true;
  for (const Value& value : call.in) {
    const std::optional<ByteRows> part = byte_rows(read(value), dim);
    if (!part) return false;
    parts.push_back(*part);
    single = single && part->length == size && part->stride == size;
    shortest = std::min(shortest, part->length);
    row_bytes += part->length;
  }
  if (shortest > kShortBytes || row_bytes > kRowBytes) return false;
  const Array z = allocate(call.out[0]);
  parallel_for(rows, std::max<std::int64_t>(1, grain * size / std::max<std::int64_t>(row_bytes, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 if (single)
                   return visit_word(static_cast<std::size_t>(size), [&]<class Word>(TypeTag<Word>) {
                     interleave<Word>(parts, begin, end - begin, z.data);
                   });
                 std::byte* to = z.data + begin * row_bytes;
                 for (std::int64_t row = begin; row < end; ++row)
                   for (const ByteRows& part : parts) {
                     copy_bytes(to, part.data + row * part.stride, static_cast<std::size_t>(part.length));
                     to += part.length;
                   }
               });
  return true;
}

}  // namespace

template <>
void run(const op::Cat& op, Call call) {
  constexpr std::int64_t kGrain = 65536;  // elements that are worth another thread
  const Dims order = order_of(call.out[0].shape(), call.in);
  if (strided::same_order(call.out[0].shape(), order, contiguous_strides(call.out[0].shape())) &&
      cat_short(op, call, kGrain))
    return;
  const Array z = allocate(call.out[0], order);
  const int dim = wrap_dim(op::Cat::kName, op.dim, z.shape.size());
  SpareVector<Array> parts;
  std::byte* place = z.data;
  for (const Value& value : call.in) {
    Array& part = parts.emplace_back(z);
    part.shape = value.shape();
    part.data = place;
    place += part.shape[dim] * z.strides[dim] * static_cast<std::int64_t>(size_of(z.dtype));
  }
  // Many small parts are divided among the threads; large ones are copied by all threads.
  const auto count = static_cast<std::int64_t>(parts.size());
  const std::int64_t together =
      z.numel() < count * kGrain ? count * kGrain / std::max<std::int64_t>(z.numel(), 1) : count;
  parallel_for(count, std::max<std::int64_t>(together, 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      copy(read(call.in[at]), parts[at]);
    }
  });
}

}  // namespace kiln::cpu::reference
