#include "kiln/backend/gpu/family/index.hpp"

#include <algorithm>
#include <limits>

namespace kiln::gpu::family {
namespace {

std::size_t at_once(const Buffer& buffer) { return 16 / size_of(buffer.dtype()); }

}  // namespace

Loop merged(const Shape& shape, std::span<const Dims> strides) {
  Dims all;
  for (int dim = 0; dim < shape.size(); ++dim) all.push_back(dim);
  return merged(shape, strides, all);
}

Loop merged(const Shape& shape, std::span<const Dims> strides, const Dims& order) {
  Loop loop;
  loop.strides.resize(strides.size());
  for (const std::int64_t each : order) {
    const int dim = static_cast<int>(each);
    if (shape[dim] == 1) continue;
    bool joins = !loop.sizes.empty();
    for (std::size_t a = 0; a < strides.size() && joins; ++a)
      joins = loop.strides[a].back() == strides[a][dim] * shape[dim];
    if (joins) loop.sizes.back() *= shape[dim];
    else loop.sizes.push_back(shape[dim]);
    for (std::size_t a = 0; a < strides.size(); ++a) {
      if (joins) loop.strides[a].back() = strides[a][dim];
      else loop.strides[a].push_back(strides[a][dim]);
    }
  }
  return loop;
}

DType index_type(std::initializer_list<std::int64_t> most) {
  constexpr std::int64_t kMost =
      std::numeric_limits<std::int32_t>::max() / 2;  // indices of the last block may go past the end
  return std::ranges::all_of(most, [&](std::int64_t each) { return each <= kMost; }) ? DType::I32 : DType::I64;
}

DType index_type(const Loop& loop) {
  std::int64_t most = numel(loop.sizes);
  for (const Dims& strides : loop.strides) {
    std::int64_t reach = 0;
    for (int dim = 0; dim < strides.size(); ++dim) reach += (loop.sizes[dim] - 1) * std::abs(strides[dim]);
    most = std::max(most, reach);
  }
  return index_type({most});
}

DType index_type(std::int64_t count) { return index_type({count}); }

Offsets::Offsets(Builder& k, DType index, int rank, int arrays)
    : builder_(&k), strides_(static_cast<std::size_t>(arrays)) {
  for (int dim = 0; dim < rank; ++dim) sizes_.push_back(k.number(index));
  for (auto& strides : strides_)
    for (int dim = 0; dim < rank; ++dim) strides.push_back(k.number(index));
}

std::vector<Expr> Offsets::of(const Expr& i) const {
  std::vector<Expr> places(strides_.size(), builder_->literal(i.type(), 0));
  Expr left = i;
  for (std::size_t dim = sizes_.size(); dim-- > 0;) {
    const Expr at = dim ? left % sizes_[dim] : left;
    if (dim) left = left / sizes_[dim];
    for (std::size_t a = 0; a < places.size(); ++a) places[a] = places[a] + at * strides_[a][dim];
  }
  return places;
}

Dims order_of(const Shape& shape, const Dims& strides) {
  Dims order;
  for (int dim = 0; dim < shape.size(); ++dim) {
    int at = order.size();
    if (shape[dim] != 1)
      while (at > 0 && std::abs(strides[static_cast<int>(order[at - 1])]) < std::abs(strides[dim])) --at;
    order.insert(at, dim);
  }
  return order;
}

Dims dense_strides(const Shape& shape, const Dims& order) {
  Dims strides = Dims::filled(shape.size(), 1);
  std::int64_t stride = 1;
  for (int i = order.size(); i-- > 0;) {
    const int dim = static_cast<int>(order[i]);
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

std::vector<Expr> unravel(const Expr& i, std::span<const Expr> sizes, const Dims& order) {
  std::vector<Expr> all(sizes.size());
  Expr left = i;
  for (int at = order.size(); at-- > 0;) {
    const auto dim = static_cast<std::size_t>(order[at]);
    all[dim] = at ? left % sizes[dim] : left;
    if (at) left = left / sizes[dim];
  }
  return all;
}

void Offsets::append(std::vector<Argument>& arguments, const Loop& loop) {
  for (const std::int64_t size : loop.sizes) arguments.emplace_back(size);
  for (const Dims& strides : loop.strides)
    for (const std::int64_t stride : strides) arguments.emplace_back(stride);
}

int width_of(const Loop& loop, std::span<const Array> arrays) {
  if (loop.sizes.empty()) return 1;
  // Chosen for the smallest elements that change along a line; larger ones, which are often cached because they are
  // broadcast, are loaded in several steps.
  std::size_t smallest = 8;
  for (std::size_t a = 0; a < arrays.size(); ++a)
    if (loop.strides[a].back() != 0) smallest = std::min(smallest, size_of(arrays[a].dtype));
  constexpr std::int64_t kMost = 8;  // more take too many registers
  for (std::int64_t width = std::min(static_cast<std::int64_t>(16 / smallest), kMost); width > 1; width /= 2) {
    bool fits = loop.sizes.back() % width == 0;
    for (std::size_t a = 0; a < arrays.size() && fits; ++a) {
      const Dims& strides = loop.strides[a];
      const std::int64_t inner = strides.back();
      fits = inner == 0 || inner == 1;
      if (inner == 1) {
        fits = is_aligned(arrays[a], static_cast<std::size_t>(width) * size_of(arrays[a].dtype));
        for (int dim = 0; dim + 1 < strides.size(); ++dim) fits &= strides[dim] % width == 0;
      }
    }
    if (fits) return static_cast<int>(width);
  }
  return 1;
}

std::vector<Expr> load_line(const Buffer& from, const Expr& at, int width) {
  std::vector<Expr> all;
  for (int lane = 0; lane < width; lane += static_cast<int>(at_once(from)))
    for (const Expr& each : from.load(at + lane, std::min(width, static_cast<int>(at_once(from))))) all.push_back(each);
  return all;
}

void store_line(const Buffer& to, const Expr& at, std::span<const Expr> values) {
  for (std::size_t lane = 0; lane < values.size(); lane += at_once(to))
    to.store(at + static_cast<int>(lane), values.subspan(lane, std::min(values.size(), at_once(to))));
}

DType word_of(std::size_t bytes) {
  return bytes == 1 ? DType::U8 : bytes == 2 ? DType::U16 : bytes == 4 ? DType::U32 : DType::U64;
}

std::size_t widen(Loop& loop, std::size_t element, std::span<const std::byte* const> moved) {
  if (loop.sizes.empty()) return element;
  for (std::size_t bytes = 16; bytes > element; bytes /= 2) {
    const auto count = static_cast<std::int64_t>(bytes / element);
    bool fits = loop.sizes.back() % count == 0;
    for (std::size_t a = 0; a < moved.size() && fits; ++a) {
      const Dims& strides = loop.strides[a];
      fits = strides.back() == (moved[a] ? 1 : 0);
      if (!moved[a]) continue;
      fits &= is_aligned(moved[a], bytes);
      for (int dim = 0; dim + 1 < strides.size(); ++dim) fits &= strides[dim] % count == 0;
    }
    if (!fits) continue;
    loop.sizes.back() /= count;
    for (std::size_t a = 0; a < moved.size(); ++a)
      for (int dim = 0; moved[a] && dim + 1 < loop.sizes.size(); ++dim) loop.strides[a][dim] /= count;
    return bytes;
  }
  return element;
}

void store_before(Builder& k, const Buffer& to, const Expr& first, const Expr& count, std::span<const Expr> values) {
  const std::size_t most = std::min(values.size(), 16 / size_of(to.dtype()));
  k.when(
      first + static_cast<std::int64_t>(values.size()) <= count,
      [&] {
        for (std::size_t i = 0; i < values.size(); i += most)
          to.store(first + static_cast<std::int64_t>(i), values.subspan(i, most));
      },
      [&] {
        for (std::size_t i = 0; i < values.size(); ++i) {
          const Expr at = first + static_cast<std::int64_t>(i);
          k.when(at < count, [&] { to.store(at, values[i]); });
        }
      });
}

}  // namespace kiln::gpu::family
