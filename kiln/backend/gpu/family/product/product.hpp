// Products of matrices by our own kernels, for any strides and element types.
#pragma once
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/product/tile.hpp"

namespace kiln::gpu::family {

/// A factor of a product in memory: `line` and `depth` are the strides along its lines (rows of the left factor,
/// columns of the right one) and along the summed dimension.
struct Lines {
  const std::byte* data;
  std::int64_t line, depth;
};

/// c [batch..., m, n], row-major, = a [m, k] x b [k, n] for each entry of a batch; the strides of `batch` are those of
/// a and b.
struct Matrices {
  DType dtype;
  std::int64_t m = 1, n = 1, k = 1;
  Lines a{}, b{};
  Loop batch{{}, {{}, {}}};
  std::byte* c = nullptr;
  // The library's epilogue on c: our own kernels have none.
  const std::byte* bias = nullptr;  // [n], added to every row
  Product::Function function = Product::Function::None;
};
/// The product of arrays as op::Matmul takes them.
Matrices matrices(const Array& a, const Array& b, const Array& c);
void multiply(Gpu& gpu, Matrices product);
/// Multiplies by the device's library, or else as multiply().
void matmul(Gpu& gpu, Matrices product);
/// Multiplies by the library alone; returns false, with nothing done, if it does not support the product.
bool multiply_by_library(Gpu& gpu, const Matrices& product);
/// Makes one product of a batch of left factors that are contiguous and share the right one.
void join_batch(Matrices& product);

/// Are products of this type computed by tensor cores?
bool multiplies_fragments(const Gpu& gpu, DType dtype);
/// The tile to use: large, but small enough to keep all multiprocessors busy, and no larger than the matrices need.
Tile tile_of(const Gpu& gpu, DType dtype, std::int64_t m, std::int64_t n, std::int64_t depth, std::int64_t batch);
/// Work that a tile is chosen for: products, or convolutions as products, of so many `batch` matrices.
struct TiledWork {
  enum class Kind : std::uint8_t { Product, Convolution, ConvolutionOfInput, ConvolutionOfWeight } kind;
  DType dtype;
  std::int64_t rows, columns, depth, batch;
  Loading a, b;
};
/// The tile to use where tile_of() says `first`: that, or another one that gives the same bits and was measured to be
/// quicker (Choices). run(tile) computes the result by a tile.
const Tile& chosen_tile(Gpu& gpu, const TiledWork& work, const Tile& first, FunctionRef<void(const Tile&)> run);
/// How to load from a factor with `lines` lines and that depth; `others` are strides that lead to further parts of it.
Loading loading_of(const Lines& factor, DType dtype, std::int64_t lines, std::int64_t depth,
                   std::initializer_list<std::span<const std::int64_t>> others);
/// How many elements can be loaded or stored at once if all these offsets are multiples of it.
int width_at(const std::byte* data, DType dtype, std::span<const std::int64_t> places);

/// Splits the depth of a product over several blocks if `blocks` tiles alone would leave the device idle: the number of
/// shares, and their depth, a multiple of `least`.
struct DepthSplit {
  std::int64_t count = 1, span;
};
inline constexpr std::int64_t kLeastDepth = 256;  // of a tile's share
DepthSplit split_depth(const Gpu& gpu, std::int64_t blocks, std::int64_t depth, std::int64_t least);
/// to[i] = sum over shares of parts[share][i], in order; parts have the type in which `dtype` is computed.
void sum_parts(Gpu& gpu, const std::byte* parts, std::int64_t shares, std::byte* to, std::int64_t count, DType dtype);

}  // namespace kiln::gpu::family
