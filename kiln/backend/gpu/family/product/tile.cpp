#include "kiln/backend/gpu/family/product/tile.hpp"

#include <algorithm>
#include <array>

#include "kiln/core/error/error.hpp"

namespace kiln::gpu::family {

Expr warp_row(Builder& k, const Tile& tile) {
  return k.warp() / (tile.columns / (tile.own_columns * 4)) * (tile.own_rows * 8);
}
Expr warp_column(Builder& k, const Tile& tile) {
  return k.warp() % (tile.columns / (tile.own_columns * 4)) * (tile.own_columns * 4);
}

namespace {

// Padding: rows of shared memory begin in different banks, and vectors stay aligned.
constexpr int kPadding = 4;
// Padding for lines of fragments, of which eight lanes read four words each at a time: for lines that are stored whole,
// or transposed.
constexpr int kWholePadding = 8, kAcrossPadding = 2;

/// The tile's first row of this thread's sums; for fragments, that of its warp plus its place in the fragment.
Expr own_row(Builder& k, const Tile& tile) {
  if (!tile.fragments) return k.thread() / (tile.columns / tile.own_columns);
  return warp_row(k, tile) + k.lane() / 4;
}
Expr own_column(Builder& k, const Tile& tile) {
  if (!tile.fragments) return k.thread() % (tile.columns / tile.own_columns);
  return warp_column(k, tile) + k.lane() % 4 * 2;
}

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
    return 2 * std::max(along, across) * bytes + std::int64_t{threads() / kLanes} * matrix_rows * kMatrixSide * 4;
  }
  const std::int64_t elements = fragments ? std::int64_t{rows + columns} * (depth + kWholePadding)
                                          : std::int64_t{depth} * (rows + columns + 2 * kPadding);
  return 2 * elements * bytes;
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

// ---- loading a factor ----------------------------------------------------------------------------------------------

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

TileProduct::Side::Side(Builder& builder, const Tile& tile, int line_count, DType dtype, int of_one, bool along_depth)
    : k(&builder),
      lines(line_count),
      depth(tile.depth),
      each(of_one),
      line_stride(strides_of(tile, line_count, along_depth).first),
      depth_stride(strides_of(tile, line_count, along_depth).second),
      size(line_stride > depth_stride ? lines * line_stride : depth * depth_stride),
      count(lines * depth / tile.threads()),
      width(1),
      memory(builder.shared(each == 2        ? DType::U32
                            : tile.fragments ? dtype
                                             : expr::computed_in(dtype),
                            std::int64_t{2} * size / each)),
      held(builder.local(each == 2 ? DType::U32 : dtype, count / each)) {
  require<ArgumentError>(count * tile.threads() == lines * depth && count % each == 0, "kernel: a tile of ", lines,
                         " x ", depth, " is not shared by ", tile.threads(), " threads");
}

void TileProduct::Side::begin(const Factor& from) {
  factor = &from;
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

void TileProduct::Side::load(const Expr& from, const Expr& end) {
  const Expr zero = k->literal(held.type(), 0);
  std::vector<Factor::Precomputed> depths;
  std::vector<Expr> before_end;
  for (int j = 0; j < (next_depth ? count / width : 1); ++j) {
    const Expr at = from + (first_depth + j * next_depth).as(from.type());
    before_end.push_back(at < end);
    depths.push_back(factor->of_depth(at));
  }
  for (int j = 0; j < count / width; ++j) {
    const auto line = static_cast<std::size_t>(next_line ? j : 0), at = static_cast<std::size_t>(next_depth ? j : 0);
    const Factor::Position place = factor->place(known[line], depths[at]);
    k->when(
        before_end[at] & place.inside,
        [&] {
          if (each == 2) {
            const std::vector<Expr> loaded = factor->buffer.load(place.index >> 1, width / 2);
            for (int i = 0; i < width / 2; ++i) held.set(j * width / 2 + i, loaded[static_cast<std::size_t>(i)]);
            return;
          }
          const std::vector<Expr> loaded = factor->buffer.load(place.index, width);
          for (int i = 0; i < width; ++i) {
            const Expr x = loaded[static_cast<std::size_t>(i)];
            held.set(j * width + i, factor->finite_alone ? select(x - x == 0, x, like(x, 0)) : x);
          }
        },
        [&] {
          for (int i = 0; i < width / each; ++i) held.set(j * width / each + i, zero);
        });
  }
}

void TileProduct::Side::store(const Expr& turn) const {
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
      for (int next = 0; next < together / each; ++next) values.push_back(held[(j * width + i) / each + next]);
      const Expr at = first + (j * (next_depth * depth_stride + next_line * line_stride) + i * step);
      memory.store(each == 2 ? at >> 1 : at, values);
    }
}

// ---- products ------------------------------------------------------------------------------------------------------

TileProduct::TileProduct(Builder& k, const Tile& of, DType dtype)
    : tile(of),
      sums(k.local(expr::computed_in(dtype), std::int64_t{of.own_rows} * of.own_columns)),
      k_(&k),
      dtype_(dtype),
      type_(expr::computed_in(dtype)),
      own_row_(own_row(k, of)),
      own_column_(own_column(k, of)) {
  require<ArgumentError>(k.threads() == tile.threads(), "kernel: ", k.threads(), " threads, but a tile of ",
                         tile.threads());
  if (tile.matrix_rows) begin_matrices();
}

TileProduct::TileProduct(const TileProduct& other, Local others)
    : tile(other.tile),
      sums(others),
      k_(other.k_),
      dtype_(other.dtype_),
      type_(other.type_),
      own_row_(other.own_row_),
      own_column_(other.own_column_),
      left_(other.left_),
      right_(other.right_),
      exchanged_(other.exchanged_),
      matrices_(other.matrices_),
      rows_(other.rows_),
      columns_(other.columns_) {}

TileProduct TileProduct::beside(const Loading& right) {
  if (!right_) right_.emplace(*k_, tile, tile.columns, dtype_, 1, right.along_depth);
  return {*this, k_->local(type_, std::int64_t{tile.own_rows} * tile.own_columns)};
}

void TileProduct::clear() {
  const Expr zero = k_->literal(type_, 0);
  k_->unrolled(tile.own_rows * tile.own_columns, [&](const Expr& i) { sums.set(i, zero); });
}

Expr TileProduct::row(int i) const {
  if (tile.fragments) return own_row_ + (i / 2 * 16 + i % 2 * 8);
  const int group = tile.row_group();
  return own_row_ * group + (i / group * group * (tile.rows / tile.own_rows) + i % group);
}
Expr TileProduct::column(int i) const {
  if (tile.fragments) return own_column_ + (i / 2 * 8 + i % 2);
  const int group = tile.column_group();
  return own_column_ * group + (i / group * group * (tile.columns / tile.own_columns) + i % group);
}

TileProduct::Side& TileProduct::side(std::optional<Side>& side, int lines, const Factor& first) {
  if (!side) side.emplace(*k_, tile, lines, dtype_, first.buffer.dtype() == dtype_ ? 1 : 2, first.loading.along_depth);
  return *side;
}

void TileProduct::add(const Factor& left, const Factor& right, const Expr& begin, const Expr& end) {
  Side& from = side(left_, tile.rows, left);
  from.begin(left);
  side(right_, tile.columns, right).begin(right);
  run(&from, nullptr, *right_, begin, end);
}

void TileProduct::add(const Resident& left, const Factor& right, const Expr& begin, const Expr& end) {
  side(right_, tile.columns, right).begin(right);
  run(nullptr, &left, *right_, begin, end);
}

void TileProduct::run(Side* left, const Resident* resident, Side& right, const Expr& begin, const Expr& end) {
  const auto load = [&](const Expr& at) {
    if (left) left->load(at, end);
    right.load(at, end);
  };
  const auto store = [&](const Expr& turn) {
    if (left) left->store(turn);
    right.store(turn);
  };
  const Expr zero = k_->literal(DType::I32, 0), one = k_->literal(DType::I32, 1);
  const Expr steps = ((end - begin + (tile.depth - 1)) / tile.depth).as(DType::I32);
  for (const Matrix& each : matrices_) each.clear();
  load(begin);
  store(zero);
  k_->barrier();
  k_->loop(zero, steps, one, [&](const Expr& step) {
    const Expr more = step + 1 < steps, turn = step & 1;
    k_->when(more, [&] { load(begin + ((step + 1) * tile.depth).as(begin.type())); });
    const Expr right_at = turn * right.size;
    if (tile.matrix_rows) {
      const Held rows = left ? held(*left, turn) : Held{resident->memory, step, tile.depth, 1, resident->stride, 1};
      multiply_matrices(rows, held(right, turn));
    } else if (tile.fragments) {
      if (left) multiply_fragments(left->memory, turn * left->size, left->line_stride, right_at);
      else multiply_fragments(resident->memory, step * tile.depth, resident->stride, right_at);
    } else {
      if (left) multiply({left->memory, turn, left->size, left->depth_stride}, turn);
      else multiply({resident->memory, step, tile.depth * resident->stride, resident->stride}, turn);
    }
    k_->when(more, [&] { store(turn ^ 1); });
    k_->barrier();
  });
  if (tile.matrix_rows) end_matrices();
}

void TileProduct::multiply(const Turned& left, const Expr& turn) {
  const Local rows = k_->local(type_, tile.own_rows), columns = k_->local(type_, tile.own_columns);
  // Places are counted in what is loaded at once.
  const auto take = [&](const Local& to, int count, const Turned& from, const Expr& depth, const Expr& own, int group) {
    const int width = std::min(group, 16 / static_cast<int>(size_of(from.memory.dtype())));
    const int apart = (&from == &left ? tile.rows : tile.columns) / count;
    const Expr line = from.turn * (from.size / width) + depth * (from.stride / width) + own * (group / width);
    for (int i = 0; i < count; i += width) {
      const std::vector<Expr> taken =
          from.memory.load((line + (i / group * group * apart + i % group) / width) * width, width);
      for (int j = 0; j < width; ++j) to.set(i + j, taken[static_cast<std::size_t>(j)]);
    }
  };
  const Turned right{right_->memory, turn, right_->size, right_->depth_stride};
  k_->unrolled(tile.depth, [&](const Expr& depth) {
    take(rows, tile.own_rows, left, depth, own_row_, tile.row_group());
    take(columns, tile.own_columns, right, depth, own_column_, tile.column_group());
    k_->unrolled(tile.own_rows, [&](const Expr& i) {
      const Expr factor = rows[i];
      k_->unrolled(tile.own_columns, [&](const Expr& j) {
        const Expr at = i * tile.own_columns + j;
        sums.set(at, multiply_add(factor, columns[j], sums[at]));
      });
    });
  });
}

void TileProduct::multiply_fragments(const Shared& left, const Expr& left_at, int left_stride, const Expr& right_at) {
  const Expr pair = k_->lane() % 4 * 2;
  // A thread's columns begin at its pair, but columns of the right factor are one lane apart.
  const Expr left_line = left_at + own_row_ * left_stride + pair;
  const Expr right_line = right_at + (own_column_ - pair + k_->lane() / 4) * right_->line_stride + pair;
  for (int depth = 0; depth < tile.depth; depth += 16) {
    std::vector<std::array<Expr, 2>> columns;
    for (int j = 0; j < tile.own_columns; j += 2) {
      const int at = j / 2 * 8 * right_->line_stride + depth;
      columns.push_back({right_->memory.pair(right_line + at), right_->memory.pair(right_line + (at + 8))});
    }
    for (int i = 0; i < tile.own_rows; i += 2) {
      const int at = i / 2 * 16 * left_stride + depth, below = at + 8 * left_stride;
      const Expr rows[] = {left.pair(left_line + at), left.pair(left_line + below), left.pair(left_line + (at + 8)),
                           left.pair(left_line + (below + 8))};
      for (int j = 0; j < tile.own_columns; j += 2) {
        const int places[] = {i * tile.own_columns + j, i * tile.own_columns + j + 1, (i + 1) * tile.own_columns + j,
                              (i + 1) * tile.own_columns + j + 1};
        std::vector<Expr> before;
        for (const int place : places) before.push_back(sums[place]);
        const std::vector<Expr> made =
            k_->multiply_fragments(dtype_, rows, columns[static_cast<std::size_t>(j / 2)], before);
        for (std::size_t p = 0; p < 4; ++p) sums.set(places[p], made[p]);
      }
    }
  }
}

void TileProduct::each(FunctionRef<void(const Expr& row, const Expr& column, int i)> f) const {
  for (int i = 0; i < tile.own_rows; ++i)
    for (int j = 0; j < tile.own_columns; j += tile.column_group()) f(row(i), column(j), i * tile.own_columns + j);
}

std::vector<Expr> TileProduct::group(int i) const {
  std::vector<Expr> all;
  for (int j = 0; j < tile.column_group(); ++j) all.push_back(sums[i + j]);
  return all;
}

}  // namespace kiln::gpu::family
