// The choice of the tile that computes a product: by what the device has, or by what was measured.
#include <algorithm>

#include "kiln/backend/gpu/family/choice.hpp"
#include "kiln/backend/gpu/family/product/product.hpp"

namespace kiln::gpu::family {

bool multiplies_fragments(const Gpu& gpu, DType dtype) {
  const Capabilities& has = gpu.driver().capabilities();
  // The smallest tile of matrices that warps hold needs so much shared memory.
  constexpr std::int64_t kLeast = 32 << 10;
  return has.multiplies(dtype) || (has.matrix(dtype) && has.shared_memory >= kLeast);
}

namespace {

/// The tile for a device with enough shared memory.
Tile wanted_tile(const Gpu& gpu, DType dtype, std::int64_t m, std::int64_t n, std::int64_t depth, std::int64_t batch) {
  const Capabilities& has = gpu.driver().capabilities();
  if (multiplies_fragments(gpu, dtype)) {
    const Fragment* const matrix = has.matrix(dtype);
    const int held = matrix ? matrix->m : 0;
    const auto fills = [&](const Tile& tile) {
      const std::int64_t blocks = batch * blocks_for(m, tile.rows) * blocks_for(n, tile.columns);
      // Blocks of matrices that warps hold, where they are few, share the depth of a large tile rather than take a small one.
      const std::int64_t shares = held ? split_depth(gpu, blocks, depth, kLeastDepth).count : 1;
      return m > tile.rows / 2 && n > tile.columns / 2 && blocks * shares >= has.multiprocessors &&
             (!held || tile.shared_bytes(dtype) <= has.shared_memory);
    };
    // Matrices that warps hold lie in shared memory between the factors and the sums; larger tiles pass there less often.
    if (const Tile tile{128, 128, 32, 8, 16, true, held, 1}; held && fills(tile)) return tile;
    if (const Tile tile{128, 128, 32, 8, 8, true, held}; fills(tile)) return tile;
    if (const Tile tile{64, 128, 32, 8, 8, true, held};
        held && m > 32 && n > 64 && tile.shared_bytes(dtype) <= has.shared_memory)
      return tile;
    if (m <= 16) return {16, 128, 32, 2, 8, true, held};
    if (n <= 16) return {128, 16, 32, 4, 4, true, held};
    return {64, 64, 32, 4, 8, true, held};
  }
  const bool wide = size_of(dtype) == 8;
  if (m <= 16 && n <= 16) return {16, 16, 16, 1, 1};
  if (m <= 16) return {16, 128, 16, 2, 4};
  if (n <= 16) return {128, 16, 16, 4, 2};
  if (!wide && m > 64 && n > 64 && batch * blocks_for(m, 128) * blocks_for(n, 128) >= has.multiprocessors)
    return {.rows = 128, .columns = 128, .depth = 16, .own_rows = 8, .own_columns = 8, .stages = 1, .blocked = true};
  if (m <= 32 || n <= 32) return {32, 32, 32, 2, 2};
  return {64, 64, 16, 4, 4};
}

}  // namespace

Tile tile_of(const Gpu& gpu, DType dtype, std::int64_t m, std::int64_t n, std::int64_t depth, std::int64_t batch) {
  Tile tile = wanted_tile(gpu, dtype, m, n, depth, batch);
  // Less depth first; then fewer sums for each thread.
  while (!tile.fragments && tile.shared_bytes(dtype) > gpu.driver().capabilities().shared_memory) {
    const bool tall = tile.rows > tile.columns;
    int& own = tall ? tile.own_rows : tile.own_columns;
    if (tile.depth > 16) {
      tile.depth /= 2;
    } else if (own > 1) {
      (tall ? tile.rows : tile.columns) /= 2;
      own /= 2;
    } else {
      break;
    }
  }
  return tile;
}

namespace {

/// Returns the other tiles that may compute a large result, with the same bits: elements are summed over the depth in
/// the same order by all tiles of a kind. The default comes first.
std::vector<Tile> tiles_for(const Gpu& gpu, const Tile& first, const TiledWork& work) {
  static constexpr Tile kRegisters[] = {
      {128, 128, 16, 8, 8},
      {128, 128, 8, 8, 8},
      {128, 64, 16, 8, 8},
      {64, 128, 16, 8, 8},
      {64, 64, 16, 4, 4},
      {64, 64, 16, 8, 4},
      {64, 64, 8, 8, 8},
      {128, 256, 8, 8, 16},
      {256, 128, 8, 16, 8},
      {32, 64, 16, 4, 4},
      {.rows = 128, .columns = 128, .depth = 8, .own_rows = 8, .own_columns = 8, .blocked = true},
      {.rows = 128, .columns = 128, .depth = 16, .own_rows = 8, .own_columns = 8, .blocked = true},
      {.rows = 128, .columns = 128, .depth = 16, .own_rows = 8, .own_columns = 8, .stages = 1, .blocked = true},
      {.rows = 64, .columns = 128, .depth = 16, .own_rows = 8, .own_columns = 8, .blocked = true},
      {.rows = 128, .columns = 64, .depth = 16, .own_rows = 8, .own_columns = 8, .blocked = true},
      {.rows = 128, .columns = 256, .depth = 8, .own_rows = 8, .own_columns = 16, .blocked = true},
  };
  static constexpr Tile kWarps[] = {
      {128, 128, 32, 8, 8, true},
      {128, 128, 32, 8, 16, true},
      {128, 256, 16, 8, 16, true},
      {256, 128, 16, 8, 16, true},
      {128, 128, 16, 8, 16, true},
      {128, 64, 32, 8, 8, true},
      {64, 128, 32, 8, 8, true},
      {64, 64, 32, 4, 8, true},
      {64, 64, 64, 4, 8, true},
      {64, 256, 16, 8, 16, true},
      {128, 128, 16, 8, 8, true},
      {128, 256, 32, 8, 16, true, 0, 1},
      {256, 128, 32, 8, 16, true, 0, 1},
      {128, 256, 16, 8, 16, true, 0, 2, 2},
      {256, 128, 16, 8, 16, true, 0, 2, 2},
      {128, 128, 32, 8, 16, true, 0, 1},
      {128, 128, 64, 8, 16, true, 0, 1},
      {128, 128, 16, 8, 16, true, 0, 2, 2},
      {128, 128, 32, 8, 16, true, 0, 2, 2},
      {128, 128, 32, 8, 8, true, 0, 2, 2},
      {128, 128, 64, 8, 8, true, 0, 1},
      {64, 256, 32, 8, 16, true, 0, 1},
      {128, 256, 32, 8, 8, true, 0, 1},
  };
  std::vector<Tile> all{first};
  if (work.rows <= 32 || work.columns <= 32) return all;
  const Capabilities& has = gpu.driver().capabilities();
  const auto padded = [&](const Tile& tile) {
    return work.batch * blocks_for(work.rows, tile.rows) * tile.rows * blocks_for(work.columns, tile.columns) *
           tile.columns;
  };
  for (Tile tile : first.fragments ? std::span<const Tile>(kWarps) : std::span<const Tile>(kRegisters)) {
    tile.matrix_rows = first.matrix_rows;
    // Work on what lies outside of the matrices is more than another tile can win.
    if (4 * padded(tile) > 5 * padded(first) || tile.shared_bytes(work.dtype) > has.shared_memory ||
        tile.threads() > has.most_threads || tile == first)
      continue;
    if (!loads_evenly(tile, tile.rows, work.a) || !loads_evenly(tile, tile.columns, work.b)) continue;
    all.push_back(tile);
  }
  return all;
}

/// Work that is alike in this has the same tile.
struct TileQuestion {
  TiledWork::Kind kind;
  DType dtype;
  int rows, columns, depth, batch;  // digits in binary
  Loading a, b;
  Tile first;
  std::string words() const {
    static constexpr std::string_view kKinds[] = {"product", "convolution", "convolution of the input",
                                                  "convolution of the weight"};
    const auto loaded = [](const Loading& by) { return text(by.along_depth ? "deep " : "wide ", by.width); };
    return text(kKinds[static_cast<std::size_t>(kind)], " of ", dtype, ", up to 2^", rows, " x 2^", columns, " x 2^",
                depth, ", 2^", batch, " times, ", loaded(a), " by ", loaded(b));
  }
};

std::string name_of(const Tile& tile) {
  return text(tile.rows, 'x', tile.columns, 'x', tile.depth, " of ", tile.own_rows, 'x', tile.own_columns,
              tile.stages == 1 ? " in one stage" : "", tile.ahead == 2 ? " two ahead" : "",
              tile.blocked ? " blocked" : "");
}

}  // namespace

const Tile& chosen_tile(Gpu& gpu, const TiledWork& work, const Tile& first, FunctionRef<void(const Tile&)> run) {
  const TileQuestion question{work.kind,
                              work.dtype,
                              digits_of(work.rows),
                              digits_of(work.columns),
                              digits_of(work.depth),
                              digits_of(work.batch),
                              work.a,
                              work.b,
                              first};
  return gpu.made<Tile>(question, [&] {
    const std::vector<Tile> tiles = tiles_for(gpu, question.first, work);
    std::vector<std::string> names;
    for (const Tile& tile : tiles) names.push_back(name_of(tile));
    return std::make_shared<const Tile>(
        tiles[chosen(gpu, question.words(), names, [&](std::size_t i) { run(tiles[i]); })]);
  });
}

}  // namespace kiln::gpu::family
