// Products of bfloat16 matrices. The result is divided into pieces, each a product on one thread.
#include <algorithm>
#include <utility>

#include "kiln/backend/cpu/onednn/mistakes.hpp"
#include "kiln/backend/cpu/onednn/onednn.hpp"
#include "kiln/backend/cpu/onednn/primitive.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/product.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::onednn {
namespace {

using std::int64_t;

/// A piece of a product: so many matrices of the innermost batch dimension, or a tile of one matrix.
struct RowRange {
  int64_t batch = 1, m = 0, n = 0;
};

/// Returns the cost of a product in floating-point operations; the 4 stands for the memory traffic of thin matrices.
int64_t cost(int64_t m, int64_t n, int64_t k) { return 2 * k * (m + 4) * (n + 4); }

/// The most rows for which a transposed b is best read once, column by column; more rows need it packed.
constexpr int64_t kThin = 8;  // bench: suite matmul_*_bf16, gpt2_124M_decode_bf16

/// Depends on the sizes alone. Tiles of 128 rows are as fast as the whole, and from 32 rows on it pays to pack a
/// transposed b again. A transposed a is packed again for each tile of columns. bench: suite matmul_*_bf16, matmul_conv
RowRange cut(const Product& p) {
  RowRange piece{1, p.m, p.n};
  const int64_t one = cost(p.m, p.n, p.k), inner = p.batch.empty() ? 1 : p.batch.back();
  const int64_t all = one * numel(p.batch);
  const int64_t wanted = pieces(all);
  const int64_t matrices_per_chunk = std::max(all / wanted, kMinOpsPerThread) / one;
  if (matrices_per_chunk >= 1 && !p.batch.empty()) {
    piece.batch = std::min(inner, matrices_per_chunk);
    return piece;
  }
  int64_t left = divide_up(wanted, numel(p.batch));
  const auto halve = [&left](int64_t& tile, int64_t least, int64_t multiple) {
    for (; left > 1 && tile >= 2 * least; left /= 2) tile = round_up(divide_up(tile, 2), multiple);
  };
  if (!p.b.by_rows()) {
    if (p.m < kThin) halve(piece.n, 96, 32);
    halve(piece.m, 32, 8);
  } else {
    // Both operands are packed again for each tile: the closer it is to a square, the less is packed.
    while (left > 1 && std::max(piece.m, piece.n) >= 512) {
      if (piece.m >= piece.n) piece.m = round_up(divide_up(piece.m, 2), 8);
      else piece.n = round_up(divide_up(piece.n, 2), 32);
      left /= 2;
    }
    halve(piece.m, 128, 8);
    halve(piece.n, 384, 32);
    halve(piece.m, 32, 8);
    if (p.a.by_rows()) halve(piece.n, 96, 32);
  }
  while (!p.a.by_rows() && p.m % piece.m == 1)
    piece.m += 8;  // avoids a last piece of a single row, which run() treats differently
  return piece;
}

/// One operand of a product as it is in memory: strides in elements. The step to the next matrix is 0 if there is none,
/// or if all products share this one.
struct Side {
  int64_t row, column, step;

  MemoryDesc desc(int64_t batch, int64_t rows, int64_t columns) const {
    const auto type = dnnl::memory::data_type::bf16;
    if (batch == 1) return MemoryDesc({rows, columns}, type, dnnl::memory::dims{row, column});
    const int64_t whole = column == 1 ? rows * row : columns * column;
    return MemoryDesc({step ? batch : 1, rows, columns}, type, dnnl::memory::dims{step ? step : whole, row, column});
  }
};

struct Products {
  int64_t batch, m, n, k;
  Side a, b, c;

  Primitive make() const {
    return Primitive(
        describe<dnnl::matmul>(attributes(), a.desc(batch, m, k), b.desc(batch, k, n), c.desc(batch, m, n)),
        {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST});
  }
};

Primitive& product_primitive(const Product& p, int64_t batch, int64_t m, int64_t n) {
  const auto side = [batch](const Matrices& x) { return Side{x.row, x.column, batch == 1 ? 0 : x.batch.back()}; };
  return cached(Products{batch, m, n, p.k, side(p.a), side(p.b), side(p.c)});
}

/// Computes `batch` products of m x n, which are parts of the whole ones, from the given starts of a, b and c.
void multiply(const Product& p, std::byte* a, std::byte* b, std::byte* c, int64_t batch, int64_t m, int64_t n) {
  Primitive& primitive = product_primitive(p, batch, m, n);
  if (!primitive && batch > 1) {  // batch steps overlap in memory
    const auto step = [&](const Matrices& x) { return x.batch.back() * static_cast<int64_t>(size_of(p.dtype)); };
    for (int64_t i = 0; i < batch; ++i) multiply(p, a + i * step(p.a), b + i * step(p.b), c + i * step(p.c), 1, m, n);
    return;
  }
  primitive.place(0, a);
  primitive.place(1, b);
  primitive.place(2, c);
  primitive.execute();
}

void run_pieces(const Product& p, const RowRange& piece) {
  const std::int64_t element = static_cast<int64_t>(size_of(p.dtype));
  const int64_t inner = p.batch.empty() ? 1 : p.batch.back();
  const int64_t rows = divide_up(p.m, piece.m), columns = divide_up(p.n, piece.n),
                chunks = divide_up(inner, piece.batch);
  const int64_t count = numel(p.batch) / inner * chunks * rows * columns;
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    const OneThread one_thread;
    for (int64_t index = begin; index < end; ++index) {
      int64_t rest = index;
      const auto next = [&rest](int64_t size) { return std::exchange(rest, rest / size) % size; };
      const int64_t j = next(columns) * piece.n, i = next(rows) * piece.m, first = next(chunks) * piece.batch;
      int64_t a = i * p.a.row, b = j * p.b.column, c = i * p.c.row + j;
      for (int dim = p.batch.size() - 1; dim >= 0; --dim) {
        const int64_t at = dim == p.batch.size() - 1 ? first : next(p.batch[dim]);
        a += at * p.a.batch[dim];
        b += at * p.b.batch[dim];
        c += at * p.c.batch[dim];
      }
      multiply(p, p.a.data + a * element, p.b.data + b * element, p.c.data + c * element,
               std::min(piece.batch, inner - first), std::min(piece.m, p.m - i), std::min(piece.n, p.n - j));
    }
  });
}

}  // namespace

bool has_matmul(DType dtype, int64_t depth) {
  return dtype == DType::BF16 && has_bf16() && !product_is_mistaken(depth);
}

void multiply(Call call) {
  Value held;
  Value operands[] = {call.in[0], call.in[1]};
  // Without AMX, oneDNN 3.7 reads a single bfloat16 row as if its numbers were contiguous.
  if (operands[0].dim(-2) == 1 && read(operands[0]).strides.back() != 1) {
    read_contiguous(operands[0], held);
    if (held) operands[0] = held;
  }
  Value copies[2];
  const Product p = product_of({operands, call.out}, copies);
  run_pieces(p, cut(p));
}

}  // namespace kiln::cpu::onednn
