#include "kiln/backend/gpu/family/product/product.hpp"

#include <algorithm>

namespace kiln::gpu::family {
namespace {

/// The parameters of all kernels of products.
struct Parameters {
  Parameters(Builder& k, std::array<DType, 2> factors, DType dtype, DType index, int rank, bool parts)
      : a(k.input(factors[0])),
        b(k.input(factors[1])),
        c(k.output(parts ? expr::computed_in(dtype) : dtype)),
        m(k.number(index)),
        n(k.number(index)),
        depth(k.number(index)),
        a_line(k.number(index)),
        a_depth(k.number(index)),
        b_line(k.number(index)),
        b_depth(k.number(index)),
        batches(k.number(index)),
        span(k.number(index)),
        batch(k, index, rank, 2) {}
  Buffer a, b, c;
  Expr m, n, depth, a_line, a_depth, b_line, b_depth, batches, span;
  Offsets batch;
};

std::vector<Argument> arguments_of(const Matrices& p, const std::byte* to, std::int64_t span) {
  std::vector<Argument> arguments{
      p.a.data, p.b.data, to, p.m, p.n, p.k, p.a.line, p.a.depth, p.b.line, p.b.depth, numel(p.batch.sizes), span};
  Offsets::append(arguments, p.batch);
  return arguments;
}

struct TileKernel {
  DType dtype, index;
  int rank;
  Tile tile;
  Loading a, b;
  int stored;         // columns that are stored at once
  bool parts, whole;  // `whole`: no tile goes past the ends of the matrices

  Kernel kernel() const {
    Builder k("matmul", tile.threads());
    const Parameters p(k, {factor_dtype(tile, dtype, a), factor_dtype(tile, dtype, b)}, dtype, index, rank, parts);
    const Expr row_tiles = (p.m + (tile.rows - 1)) / tile.rows, tiles_per_matrix = tiles(p.n, tile.columns) * row_tiles;
    const Expr block = k.block().as(index), matrix = block / tiles_per_matrix, place = block % tiles_per_matrix;
    // Blocks that run at the same time share rows and columns: they take bands of a few columns of tiles.
    constexpr int kBand = 8;
    const Expr band = place / (row_tiles * kBand), in_band = place % (row_tiles * kBand);
    const Expr width = min(tiles(p.n, tile.columns) - band * kBand, k.literal(index, kBand));
    const Expr first_row = in_band / width * tile.rows, first_column = (band * kBand + in_band % width) * tile.columns;
    const std::vector<Expr> at = p.batch.of(matrix % p.batches);
    const Expr begin = matrix / p.batches * p.span;

    Factor left = factor_of(p.a, a, at[0], first_row, p.m, p.a_line, p.a_depth),
           right = factor_of(p.b, b, at[1], first_column, p.n, p.b_line, p.b_depth);
    left.whole = right.whole = whole;
    const auto inside = [&](const Expr& place, const Expr& end) { return whole ? k.boolean(true) : place < end; };
    TileProduct product(k, tile, dtype);
    product.make(left, right, begin, min(begin + p.span, p.depth),
                 [&](const Expr& row, const Expr& column, std::span<const Expr> sums) {
                   const Expr r = first_row + row.as(index), first = first_column + column.as(index);
                   k.when(inside(r, p.m), [&] {
                     const Expr line = (matrix * p.m + r) * p.n + first;
                     const auto width = std::min(static_cast<std::size_t>(stored), sums.size());
                     for (std::size_t j = 0; j < sums.size(); j += width)
                       k.when(inside(first + static_cast<int>(j), p.n),
                              [&] { p.c.store(line + static_cast<int>(j), sums.subspan(j, width)); });
                   });
                 });
    return k.finish();
  }

 private:
  static Expr tiles(const Expr& size, int each) { return (size + (each - 1)) / each; }
};

/// A product with a b of one column. Warps take one row each, or all take the same rows() rows and split the depth.
struct VectorKernel {
  DType dtype, index;
  int rank;
  Loading a;
  bool b_in_line, parts;

  Kernel kernel() const {
    Builder k("matmul_vector", kThreads);
    const Parameters p(k, {dtype, dtype}, dtype, index, rank, parts);
    const Expr groups = (p.m + (rows() - 1)) / rows();
    const Expr block = k.block().as(index), matrix = block / groups, first_row = block % groups * rows();
    const std::vector<Expr> at = p.batch.of(matrix % p.batches);
    const Expr begin = matrix / p.batches * p.span, end = min(begin + p.span, p.depth);
    const Expr lane = k.lane().as(index), warp = k.warp().as(index);
    const Expr row = first_row + (a.along_depth ? warp : lane * a.width);
    const Expr line = at[0] + row * p.a_line;
    const auto add = [](const Expr& x, const Expr& y) { return x + y; };
    const auto store = [&](const Expr& to, const Expr& sum) {
      k.when(to < p.m, [&] { p.c.store(matrix * p.m + to, sum); });
    };
    const Local sums = k.local(dtype, a.width);
    for (int i = 0; i < a.width; ++i) sums.set(i, k.literal(sums.type(), 0));

    if (a.along_depth) {
      k.when(row < p.m, [&] {
        k.loop(begin + lane * a.width, end, k.literal(index, kLanes * a.width), [&](const Expr& depth) {
          const std::vector<Expr> x = p.a.load(line + depth * p.a_depth, a.width);
          const std::vector<Expr> y = column(p, at[1], depth);
          for (int i = 0; i < a.width; ++i)
            sums.set(i, sums[i] + x[static_cast<std::size_t>(i)] * y[static_cast<std::size_t>(i)]);
        });
      });
      Expr sum = sums[0];
      for (int i = 1; i < a.width; ++i) sum = sum + sums[i];
      const Expr all = fold_warp(k, sum, add);
      k.when(k.lane() == 0, [&] { store(row, all); });
      return k.finish();
    }
    k.when(row < p.m, [&] {
      k.loop(begin + warp, end, k.literal(index, kThreads / kLanes), [&](const Expr& depth) {
        const std::vector<Expr> x = p.a.load(line + depth * p.a_depth, a.width);
        const Expr y = p.b[at[1] + depth * p.b_depth];
        for (int i = 0; i < a.width; ++i) sums.set(i, sums[i] + x[static_cast<std::size_t>(i)] * y);
      });
    });
    const Shared of_warps = k.shared(sums.type(), std::int64_t{kThreads} * a.width);
    for (int i = 0; i < a.width; ++i) of_warps.store(k.thread() + i * kThreads, sums[i]);
    k.barrier();
    k.when(k.warp() == 0, [&] {
      for (int i = 0; i < a.width; ++i) {
        Expr sum = of_warps[k.lane() + i * kThreads];
        for (int other = 1; other < kThreads / kLanes; ++other)
          sum = sum + of_warps[k.lane() + (i * kThreads + other * kLanes)];
        store(row + i, sum);
      }
    });
    return k.finish();
  }
  int rows() const { return a.along_depth ? kThreads / kLanes : kLanes * a.width; }

 private:
  std::vector<Expr> column(const Parameters& p, const Expr& first, const Expr& depth) const {
    if (b_in_line) return p.b.load(first + depth * p.b_depth, a.width);
    std::vector<Expr> all;
    for (int i = 0; i < a.width; ++i) all.push_back(p.b[first + (depth + i) * p.b_depth]);
    return all;
  }
};

/// Blocks may go past the ends of matrices by less than the largest tile.
DType index_of(const Matrices& p, std::int64_t shares) {
  constexpr std::int64_t kTile = 256;
  const auto reach = [&](const Lines& factor, std::int64_t lines, const Dims& batch) {
    std::int64_t far = (lines + kTile) * std::abs(factor.line) + (p.k + kTile) * std::abs(factor.depth);
    for (int dim = 0; dim < batch.size(); ++dim) far += p.batch.sizes[dim] * std::abs(batch[dim]);
    return far;
  };
  return index_type({reach(p.a, p.m, p.batch.strides[0]), reach(p.b, p.n, p.batch.strides[1]),
                     (p.m + kTile) * (p.n + kTile) * numel(p.batch.sizes) * shares});
}

/// The transposed product, b^T a^T, which makes a single row a column.
Matrices turned(Matrices p) {
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.batch.strides[0], p.batch.strides[1]);
  return p;
}

}  // namespace

void join_batch(Matrices& p) {
  if (p.batch.sizes.size() != 1 || p.batch.strides[1][0] != 0) return;
  if (p.m == 1) p.a.line = p.batch.strides[0][0];
  else if (p.batch.strides[0][0] != p.m * p.a.line) return;
  p.m *= p.batch.sizes[0];
  p.batch = {{}, {{}, {}}};
}

int width_at(const std::byte* data, DType dtype, std::span<const std::int64_t> places) {
  for (int width = static_cast<int>(16 / size_of(dtype)); width > 1; width /= 2) {
    if (is_aligned(data, static_cast<std::size_t>(width) * size_of(dtype)) &&
        std::ranges::all_of(places, [&](std::int64_t place) { return place % width == 0; }))
      return width;
  }
  return 1;
}

Loading loading_of(const Lines& factor, DType dtype, std::int64_t lines, std::int64_t depth,
                   std::initializer_list<std::span<const std::int64_t>> others) {
  const bool along_depth = lines == 1 || (depth > 1 && std::abs(factor.depth) <= std::abs(factor.line));
  if ((along_depth ? factor.depth : factor.line) != 1) return {along_depth, 1};
  std::vector<std::int64_t> places{along_depth ? depth : lines, (along_depth ? lines : depth) == 1 ? 0
                                                                : along_depth                      ? factor.line
                                                                                                   : factor.depth};
  for (const auto& other : others) places.insert(places.end(), other.begin(), other.end());
  return {along_depth, width_at(factor.data, dtype, places)};
}

void multiply(Gpu& gpu, Matrices p) {
  join_batch(p);
  if (p.m == 1 && p.n > 1) {
    p = turned(p);
    join_batch(p);
  }
  const std::int64_t batch = numel(p.batch.sizes), count = batch * p.m * p.n;
  if (count == 0) return;
  if (p.k == 0) return gpu.driver().clear(p.c, static_cast<std::size_t>(count) * size_of(p.dtype));
  const Dims &a_batch = p.batch.strides[0], &b_batch = p.batch.strides[1];
  const Loading a = loading_of(p.a, p.dtype, p.m, p.k, {{a_batch.begin(), a_batch.end()}});
  const Loading b = loading_of(p.b, p.dtype, p.n, p.k, {{b_batch.begin(), b_batch.end()}});
  const DType wide = expr::computed_in(p.dtype);

  // Launches kernel(index, parts) with `blocks` blocks for each share of the depth.
  const auto run = [&](std::int64_t blocks, const DepthSplit& shares, auto&& kernel) {
    const bool parts = shares.count > 1;
    const Value held = parts ? gpu.scratch({Shape{shares.count * count}, wide}) : Value();
    std::byte* const to = parts ? read(held).data : p.c;
    gpu.launch(kernel(index_of(p, shares.count), parts), blocks * shares.count, arguments_of(p, to, shares.span));
    if (parts) sum_parts(gpu, to, shares.count, p.c, count, p.dtype);
  };
  const int rank = p.batch.sizes.size();
  if (p.n == 1) {
    const bool b_in_line = a.along_depth && p.b.depth == 1 &&
                           width_at(p.b.data, p.dtype, std::vector(b_batch.begin(), b_batch.end())) >= a.width;
    const VectorKernel as{p.dtype, DType::I64, rank, a, b_in_line, false};
    const std::int64_t blocks = batch * blocks_for(p.m, as.rows());
    run(blocks, split_depth(gpu, blocks, p.k, 1024),
        [&](DType index, bool parts) { return VectorKernel{p.dtype, index, rank, a, b_in_line, parts}; });
  } else {
    const Tile first = tile_of(gpu, p.dtype, p.m, p.n, p.k, batch);
    const auto blocks_of = [&](const Tile& tile) {
      return batch * blocks_for(p.m, tile.rows) * blocks_for(p.n, tile.columns);
    };
    // The default decides how the depth is split, and with that the order of sums.
    const DepthSplit shares = split_depth(gpu, blocks_of(first), p.k, kLeastDepth);
    // Checks cost large products more than a second kernel does.
    const auto whole = [&](const Tile& tile) {
      return blocks_of(tile) >= gpu.driver().capabilities().multiprocessors && p.m % tile.rows == 0 &&
             p.n % tile.columns == 0 && p.k % tile.step() == 0 && shares.span % tile.step() == 0;
    };
    const auto by = [&](const Tile& tile) {
      run(blocks_of(tile), shares, [&](DType index, bool parts) {
        const std::int64_t line = p.n;
        return TileKernel{p.dtype, index,      rank, tile, a, b, width_at(p.c, parts ? wide : p.dtype, {&line, 1}),
                          parts,   whole(tile)};
      });
    };
    by(chosen_tile(gpu, {TiledWork::Kind::Product, p.dtype, p.m, p.n, p.k, batch, a, b}, first, by));
  }
}

}  // namespace kiln::gpu::family
