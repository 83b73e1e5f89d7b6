// Products of matrices by our own kernels, for any strides and element types.
#pragma once
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/product/tile.hpp"

namespace kiln::gpu::family {

/// A factor of products as it lies in memory: `line` and `depth` apart are its elements along its own lines (rows of the
/// left, columns of the right one), and along what is summed over.
struct Lines {
  const std::byte* data;
  std::int64_t line, depth;
};

/// c [batch..., m, n], row-major, = a [m, k] x b [k, n] for each of a batch, where the strides of `batch` are those of a
/// and b.
struct Matrices {
  DType dtype;
  std::int64_t m = 1, n = 1, k = 1;
  Lines a{}, b{};
  Loop batch{{}, {{}, {}}};
  std::byte* c = nullptr;
  // What a library does to c on its way: our own kernels know neither.
  const std::byte* bias = nullptr;  // [n], for every row
  Product::Function function = Product::Function::None;
};
/// Of arrays as op::Matmul takes them.
Matrices matrices(const Array& a, const Array& b, const Array& c);
void multiply(Gpu& gpu, Matrices product);
/// By the device's library, or else as above.
void matmul(Gpu& gpu, Matrices product);
/// By the library alone: false, with nothing done, where it does not know how.
bool multiply_by_library(Gpu& gpu, const Matrices& product);
/// Makes one product of a batch of left factors that lie one after the other and share the right one.
void join_batch(Matrices& product);

/// As large as keeps all multiprocessors busy, and as small as the matrices are.
/// Are products of such elements tensor cores' work?
bool multiplies_fragments(const Gpu& gpu, DType dtype);
Tile tile_of(const Gpu& gpu, DType dtype, std::int64_t m, std::int64_t n, std::int64_t batch);
/// How to load from a factor with `lines` lines and so much depth; `others` are strides that lead to further parts of it.
Loading loading_of(const Lines& factor, DType dtype, std::int64_t lines, std::int64_t depth,
                   std::initializer_list<std::span<const std::int64_t>> others);
/// How many elements can be loaded or stored at once, where all of these places are multiples of it.
int width_at(const std::byte* data, DType dtype, std::span<const std::int64_t> places);

/// How many blocks share the depth of a product that `blocks` tiles alone would leave the device idle with, and how deep
/// their shares are, in multiples of `least`.
struct Shares {
  std::int64_t count = 1, span;
};
Shares shares_of(const Gpu& gpu, std::int64_t blocks, std::int64_t depth, std::int64_t least);
/// to[i] = sum over shares of parts[share][i], in their order; parts are of what `dtype` is computed in.
void sum_parts(Gpu& gpu, const std::byte* parts, std::int64_t shares, std::byte* to, std::int64_t count, DType dtype);

}  // namespace kiln::gpu::family
