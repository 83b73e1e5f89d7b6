#include "kiln/backend/cpu/product.hpp"

#include <algorithm>
#include <cstring>

namespace kiln::cpu {
namespace {

using std::int64_t;

/// Gives a matrix of rows x columns the strides that kernels expect, where a dimension of one element leaves a choice.
/// Returns false where neither dimension has stride 1 or elements overlap.
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

/// Views the array as matrices over the batch dimensions of the result; returns false where it has to be copied first.
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

/// Joins neighbouring batch dimensions through which all three arrays step evenly, and turns the innermost one into
/// rows where b is the same for all of it: [32, 128, 768] x [768, 3072] is one product of 4096 rows.
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

}  // namespace

std::int64_t offset_of(const Shape& shape, const Dims& strides, std::int64_t index) {
  std::int64_t offset = 0;
  for (int dim = shape.size() - 1; dim >= 0; --dim) {
    offset += index % shape[dim] * strides[dim];
    index /= shape[dim];
  }
  return offset;
}

Product product_of(Call call, Value (&copies)[2], bool stored) {
  const Shape& shape = call.out[0].shape();
  const int rank = shape.size();
  Product p{.dtype = call.out[0].dtype(),
            .m = shape[rank - 2],
            .n = shape[rank - 1],
            .k = call.in[0].shape().back(),
            .batch = Shape(shape.begin(), shape.end() - 2)};
  const Array c =
      stored ? allocate(call.out[0]) : Array{.dtype = p.dtype, .shape = shape, .strides = contiguous_strides(shape)};
  if (p.empty()) {
    if (stored && c.numel() > 0) std::memset(c.data, 0, static_cast<std::size_t>(c.numel()) * size_of(p.dtype));
    return p;
  }
  if (!view(read(call.in[0]), p.batch, p.a)) view(read_contiguous(call.in[0], copies[0]), p.batch, p.a);
  if (!view(read(call.in[1]), p.batch, p.b)) view(read_contiguous(call.in[1], copies[1]), p.batch, p.b);
  view(c, p.batch, p.c);
  collapse(p);
  return p;
}

}  // namespace kiln::cpu
