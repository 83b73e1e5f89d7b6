// Matrix products. Operands are read where they lie if one of their last two dimensions has stride 1; the result is
// cut into pieces, each a product on one thread.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/onednn/pieces.hpp"
#include "kiln/backend/cpu/onednn/primitive.hpp"
#include "kiln/backend/cpu/onednn/through_float32.hpp"

namespace kiln::cpu::onednn {
namespace {

using std::int64_t;

/// The matrices of one array: the first, and how to step inside one and to the next.
struct Matrices {
  std::byte* data = nullptr;
  int64_t row = 0, column = 0;  // strides in elements
  Dims batch;                   // likewise; 0 where the array broadcasts

  bool by_rows() const { return column == 1; }
  int64_t leading() const { return by_rows() ? row : column; }
};

/// c[i] = a[i] b[i] for every index i of `batch`; a is m x k, b is k x n.
struct Product {
  DType dtype = DType::F32;
  int64_t m = 0, n = 0, k = 0;
  Shape batch;
  Matrices a = {}, b = {}, c = {};
};

/// Gives rows x columns the strides that oneDNN wants to see, where a dimension of one element leaves a choice.
/// False where neither dimension has stride 1 or elements overlap.
bool normalise(int64_t rows, int64_t columns, int64_t& row, int64_t& column) {
  if (columns == 1) {
    column = 1;
    if (rows == 1) row = 1;
    return row >= 1;
  }
  if (rows == 1) {
    row = column == 1 ? columns : 1;
    return column >= 1;
  }
  return (column == 1 && row >= columns) || (row == 1 && column >= rows);
}

/// The array as matrices under the batch dimensions of the result; false where it has to be copied first.
bool view(const Array& array, const Shape& batch, Matrices& result) {
  const int rank = array.shape.size(), missing = batch.size() - (rank - 2);
  result = {array.data, array.strides[rank - 2], array.strides[rank - 1], {}};
  for (int i = 0; i < batch.size(); ++i) {
    const bool broadcasts = i < missing || array.shape[i - missing] == 1;
    result.batch.push_back(broadcasts ? 0 : array.strides[i - missing]);
    if (result.batch.back() < 0) return false;
  }
  return normalise(array.shape[rank - 2], array.shape[rank - 1], result.row, result.column);
}

/// Joins neighbouring batch dimensions that all three arrays step through evenly, and makes rows of the innermost
/// one where b is the same for all of it: [32, 128, 768] x [768, 3072] is one product of 4096 rows.
void collapse(Product& p) {
  Matrices* const all[] = {&p.a, &p.b, &p.c};
  for (int i = p.batch.size() - 1; i >= 0; --i) {
    const bool last = i == p.batch.size() - 1;
    const bool even = !last && std::ranges::all_of(all, [&](const Matrices* x) {
      return x->batch[i] == x->batch[i + 1] * p.batch[i + 1];
    });
    if (p.batch[i] != 1 && !even) continue;
    if (even) p.batch[i + 1] *= p.batch[i];
    p.batch.erase(i);
    for (Matrices* const x : all) x->batch.erase(i);
  }
  if (p.batch.empty()) return;
  const int64_t size = p.batch.back(), step_a = p.a.batch.back(), step_c = p.c.batch.back();
  const bool rows_go_on = p.m == 1 ? step_a >= p.k && (p.k == 1 || p.a.by_rows())
                                   : p.a.by_rows() && step_a == p.m * p.a.row && step_c == p.m * p.c.row;
  if (p.b.batch.back() != 0 || !rows_go_on) return;
  if (p.m == 1) p.a.row = step_a, p.c.row = step_c;
  p.m *= size;
  p.batch.pop_back();
  for (Matrices* const x : all) x->batch.pop_back();
}

/// How a product is cut: so many matrices of the innermost batch dimension, or so large a tile of one.
struct Piece {
  int64_t batch = 1, m = 0, n = 0;
};

/// What a product costs, in floating-point operations; the 4 stands for the traffic of thin matrices.
int64_t cost(int64_t m, int64_t n, int64_t k) { return 2 * k * (m + 4) * (n + 4); }

/// So few rows that a transposed b is best read once, column by column, where more want it packed.
constexpr int64_t kThin = 8;

/// Depends on the sizes alone. Measured on Zen 4 and Zen 5: tiles of 128 rows are as quick as the whole, and 32 rows
/// pay for packing a transposed b again. A transposed a is packed again for each tile of columns.
Piece cut(const Product& p) {
  Piece piece{1, p.m, p.n};
  const int64_t one = cost(p.m, p.n, p.k), inner = p.batch.empty() ? 1 : p.batch.back();
  const int64_t all = one * numel(p.batch);
  const int64_t wanted = pieces(all);
  const int64_t matrices_of_a_piece = std::max(all / wanted, kWorthAThread) / one;
  if (matrices_of_a_piece >= 1 && !p.batch.empty()) {
    piece.batch = std::min(inner, matrices_of_a_piece);
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
    halve(piece.m, 128, 8);
    halve(piece.n, 384, 32);
    halve(piece.m, 32, 8);
    if (p.a.by_rows()) halve(piece.n, 96, 32);
  }
  return piece;
}

MemoryDesc matrices_desc(const Matrices& x, int64_t batch, int64_t rows, int64_t columns, DType dtype) {
  const auto type = dtype == DType::BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
  if (batch == 1) return MemoryDesc({rows, columns}, type, dnnl::memory::dims{x.row, x.column});
  const int64_t step = x.batch.back();
  const int64_t whole = x.by_rows() ? rows * x.row : columns * x.column;
  return MemoryDesc({step ? batch : 1, rows, columns}, type, dnnl::memory::dims{step ? step : whole, x.row, x.column});
}

Primitive& product_primitive(const Product& p, int64_t batch, int64_t m, int64_t n) {
  const auto step = [batch](const Matrices& x) { return batch == 1 ? 0 : x.batch.back(); };
  const Key key(Task::Matmul, p.dtype, batch, m, n, p.k, p.a.row, p.a.column, step(p.a), p.b.row, p.b.column, step(p.b),
                p.c.row, step(p.c));
  return cached(key, [&] {
    const dnnl::matmul::desc desc(matrices_desc(p.a, batch, m, p.k, p.dtype),
                                  matrices_desc(p.b, batch, p.k, n, p.dtype), matrices_desc(p.c, batch, m, n, p.dtype));
    return Primitive(dnnl::matmul::primitive_desc(desc, attributes(), engine()),
                     {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST});
  });
}

/// `batch` products of m x n, part of the whole ones, from where a, b and c point to.
void multiply(const Product& p, std::byte* a, std::byte* b, std::byte* c, int64_t batch, int64_t m, int64_t n) {
  if (p.dtype == DType::F32 && batch == 1 && (p.b.by_rows() || p.m < kThin)) {
    dnnl_sgemm(p.a.by_rows() ? 'N' : 'T', p.b.by_rows() ? 'N' : 'T', m, n, p.k, 1.0f, reinterpret_cast<float*>(a),
               p.a.leading(), reinterpret_cast<float*>(b), p.b.leading(), 0.0f, reinterpret_cast<float*>(c), p.c.row);
    return;
  }
  Primitive& primitive = product_primitive(p, batch, m, n);
  if (!primitive && batch > 1) {  // batch steps that overlap in memory
    const auto step = [&](const Matrices& x) { return x.batch.back() * static_cast<int64_t>(size_of(p.dtype)); };
    for (int64_t i = 0; i < batch; ++i) multiply(p, a + i * step(p.a), b + i * step(p.b), c + i * step(p.c), 1, m, n);
    return;
  }
  primitive.place(0, a);
  primitive.place(1, b);
  primitive.place(2, c);
  primitive.execute();
}

void run_pieces(const Product& p, const Piece& piece) {
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

bool run(const op::Matmul& op, Call call) {
  const Shape& shape = call.out[0].shape();
  const DType dtype = call.out[0].dtype();
  const int rank = shape.size();
  if (dtype != DType::F32 && dtype != DType::BF16 && dtype != DType::F16) return false;
  for (const Value& operand : call.in)
    if (operand.dtype() != dtype || operand.rank() < 2) return false;
  if (goes_through_float32(dtype)) return through_float32(op, call);

  Product p{.dtype = dtype,
            .m = shape[rank - 2],
            .n = shape[rank - 1],
            .k = call.in[0].shape().back(),
            .batch = Shape(shape.begin(), shape.end() - 2)};
  const Array c = allocate(call.out[0]);
  if (c.numel() == 0) return true;
  if (p.k == 0) {
    std::memset(c.data, 0, static_cast<std::size_t>(c.numel()) * size_of(dtype));
    return true;
  }
  Value copy_of_a, copy_of_b;
  if (!view(read(call.in[0]), p.batch, p.a)) view(read_contiguous(call.in[0], copy_of_a), p.batch, p.a);
  if (!view(read(call.in[1]), p.batch, p.b)) view(read_contiguous(call.in[1], copy_of_b), p.batch, p.b);
  view(c, p.batch, p.c);
  collapse(p);
  run_pieces(p, cut(p));
  return true;
}

}  // namespace kiln::cpu::onednn
