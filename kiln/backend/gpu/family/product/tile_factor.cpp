// Factors of tiled products on their way from memory through registers to shared memory, and where they lie there.
#include <algorithm>

#include "kiln/backend/gpu/family/product/tile.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu::family {
namespace {

// Padding: rows of shared memory begin in different banks, and vectors stay aligned.
constexpr int kPadding = 4;
// Padding for lines of fragments, of which eight lanes read four words each at a time: for lines that are stored whole,
// or transposed.
constexpr int kWholePadding = 8, kAcrossPadding = 2;

/// How far apart the lines and the depths of a factor are in shared memory. Matrices are loaded from either order,
/// fragments from lines alone.
std::pair<int, int> strides_of(const Tile& tile, int lines, bool along_depth) {
  const int padding = !tile.fragments ? kPadding : tile.matrix_rows || along_depth ? kWholePadding : kAcrossPadding;
  const bool by_lines = tile.matrix_rows ? along_depth : tile.fragments;
  return by_lines ? std::pair(tile.depth + padding, 1) : std::pair(1, lines + padding);
}

}  // namespace

std::int64_t Tile::shared_bytes(DType dtype) const {
  const auto bytes = static_cast<std::int64_t>(size_of(fragments ? dtype : expr::computed_in(dtype)));
  if (matrix_rows) {
    const std::int64_t lines = rows + columns, along = lines * (depth + kWholePadding),
                       across = std::int64_t{depth} * (lines + 2 * kWholePadding);
    return stages * std::max(along, across) * bytes + std::int64_t{threads() / kLanes} * matrix_rows * kMatrixSide * 4;
  }
  const std::int64_t elements = fragments ? std::int64_t{rows + columns} * (depth + kWholePadding)
                                          : std::int64_t{depth} * (rows + columns + 2 * kPadding);
  return stages * elements * bytes;
}

bool loads_evenly(const Tile& tile, int lines, const Loading& loading) {
  const int threads = tile.threads(), count = lines * tile.depth / threads;
  if (count == 0 || count * threads != lines * tile.depth) return false;
  const int along = (loading.along_depth ? tile.depth : lines) / std::min(loading.width, count);
  return along > 0 && threads % along == 0;
}

Factor factor_of(const Buffer& buffer, const Loading& loading, const Expr& start, const Expr& first, const Expr& lines,
                 const Expr& line_stride, const Expr& depth_stride) {
  return {.buffer = buffer,
          .loading = loading,
          .of_line =
              [=](const Expr& i) {
                const Expr line = first + i.as(first.type());
                return Factor::Precomputed{start + line * line_stride, line < lines};
              },
          .of_depth = [=](const Expr& depth) { return Factor::Precomputed{depth * depth_stride}; },
          .place = [](const Factor::Precomputed& line,
                      const Factor::Precomputed& depth) { return Factor::Position{line[0] + depth[0], line[1]}; }};
}

std::int64_t Resident::elements(const Tile& tile, int depth) {
  return tile.fragments ? std::int64_t{tile.rows} * (depth + kWholePadding)
                        : std::int64_t{depth} * (tile.rows + kPadding);
}

Resident::Resident(Builder& k, const Tile& tile, DType dtype, int depth)
    : memory(k.shared(tile.fragments ? dtype : expr::computed_in(dtype), elements(tile, depth))),
      stride(tile.fragments ? depth + kWholePadding : tile.rows + kPadding),
      fragments(tile.fragments) {}

Expr Resident::place(const Expr& row, const Expr& depth) const {
  return fragments ? row * stride + depth : depth * stride + row;
}

int TileSide::elements(const Tile& tile, int lines, bool along_depth) {
  const auto [line_stride, depth_stride] = strides_of(tile, lines, along_depth);
  return line_stride > depth_stride ? lines * line_stride : tile.depth * depth_stride;
}

TileSide::TileSide(Builder& builder, const Tile& tile, int line_count, DType dtype, int of_one, bool along_depth,
                   std::optional<Shared> in)
    : k(&builder),
      lines(line_count),
      depth(tile.depth),
      each(of_one),
      line_stride(strides_of(tile, line_count, along_depth).first),
      depth_stride(strides_of(tile, line_count, along_depth).second),
      size(elements(tile, line_count, along_depth)),
      count(lines * depth / tile.threads()),
      width(1),
      memory(in ? *in
                : builder.shared(each == 2        ? DType::U32
                                 : tile.fragments ? dtype
                                                  : expr::computed_in(dtype),
                                 std::int64_t{tile.stages} * size / each)),
      held(builder.local(each == 2 ? DType::U32 : dtype, std::int64_t{tile.ahead} * count / each)) {
  require<ArgumentError>(count * tile.threads() == lines * depth && count % each == 0, "kernel: a tile of ", lines,
                         " x ", depth, " is not shared by ", tile.threads(), " threads");
}

void TileSide::begin(const Factor& from) {
  factor = from;
  width = std::min(from.loading.width, count);
  const int threads = k->threads(), along = (from.loading.along_depth ? depth : lines) / width;
  require<ArgumentError>(threads % along == 0, "kernel: ", threads, " threads do not load ", lines, " x ", depth);
  const Expr place = k->thread() % along * width, other = k->thread() / along;
  const int step = threads / along;
  first_line = from.loading.along_depth ? other : place;
  first_depth = from.loading.along_depth ? place : other;
  next_line = from.loading.along_depth ? step : 0;
  next_depth = from.loading.along_depth ? 0 : step;
  known.clear();
  for (int j = 0; j < (next_line ? count / width : 1); ++j) known.push_back(from.of_line(first_line + j * next_line));
}

void TileSide::load(const Expr& from, const Expr& end, int set) {
  const Expr zero = k->literal(held.type(), 0);
  const int first = set * count / each;
  std::vector<Factor::Precomputed> depths;
  std::vector<Expr> before_end;
  for (int j = 0; j < (next_depth ? count / width : 1); ++j) {
    const Expr at = from + (first_depth + j * next_depth).as(from.type());
    before_end.push_back(factor->whole ? k->boolean(true) : at < end);
    depths.push_back(factor->of_depth(at));
  }
  for (int j = 0; j < count / width; ++j) {
    const auto line = static_cast<std::size_t>(next_line ? j : 0), at = static_cast<std::size_t>(next_depth ? j : 0);
    const Factor::Position place = factor->place(known[line], depths[at]);
    k->when(
        factor->whole ? before_end[at] : before_end[at] & place.inside,
        [&] {
          if (each == 2) {
            const std::vector<Expr> loaded = factor->buffer.load(place.index >> 1, width / 2);
            for (int i = 0; i < width / 2; ++i)
              held.set(first + j * width / 2 + i, loaded[static_cast<std::size_t>(i)]);
            return;
          }
          const std::vector<Expr> loaded = factor->buffer.load(place.index, width);
          for (int i = 0; i < width; ++i) {
            const Expr x = loaded[static_cast<std::size_t>(i)];
            held.set(first + j * width + i, factor->finite_alone ? select(x - x == 0, x, like(x, 0)) : x);
          }
        },
        [&] {
          for (int i = 0; i < width / each; ++i) held.set(first + j * width / each + i, zero);
        });
  }
}

void TileSide::store(const Expr& turn, int set) const {
  const Expr first = turn * size + first_depth * depth_stride + first_line * line_stride;
  const int step = factor->loading.along_depth ? depth_stride : line_stride;
  const auto bytes = static_cast<int>(size_of(memory.dtype()));
  // Adjacent elements are stored at once if they begin at a multiple of their number.
  const int across = factor->loading.along_depth ? line_stride : depth_stride;
  int together = step == 1 ? std::min(width, 16 / bytes * each) : 1;
  while (across % together != 0 || size % together != 0) together /= 2;
  require<ArgumentError>(together % each == 0, "kernel: words of a factor that lies across are not stored");
  for (int j = 0; j < count / width; ++j)
    for (int i = 0; i < width; i += together) {
      std::vector<Expr> values;
      for (int next = 0; next < together / each; ++next)
        values.push_back(held[(set * count + j * width + i) / each + next]);
      const Expr at = first + (j * (next_depth * depth_stride + next_line * line_stride) + i * step);
      memory.store(each == 2 ? at >> 1 : at, values);
    }
}

}  // namespace kiln::gpu::family
