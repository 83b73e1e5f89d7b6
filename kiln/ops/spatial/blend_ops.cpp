#include "kiln/ops/spatial/blend_ops.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln::op {
namespace {

/// Checks that `data` is [batch, channels, size] and `index` [batch, points, taps].
void require_operands(std::string_view name, const Value& data, const Value& index) {
  require_float(name, data);
  require_tensor(name, index);
  require<DTypeError>(index.dtype() == DType::I64, name, ": indices must be int64, got ", index);
  require<ShapeError>(data.rank() == 3 && index.rank() == 3 && data.dim(0) == index.dim(0), name, ": ", data, " and ",
                      index, " must be [batch, channels, size] and [batch, points, taps]");
}

void require_weight(std::string_view name, const Value& data, const Value& index, const Value& weight) {
  require_tensor(name, weight);
  require_same_dtype(name, data, weight);
  require<ShapeError>(weight.shape() == index.shape(), name, ": weight ", weight.shape(),
                      " must have the shape of index ", index.shape());
}

void require_points(std::string_view name, const Value& y, const Value& index) {
  require<ShapeError>(y.dim(2) == index.dim(1), name, ": ", y, " does not have the ", index.dim(1), " points of index ",
                      index.shape());
}

/// Saves the index and, of the two operands at bits `a` and `b`, the other one than is tracked.
Saves saves_index_and_other(std::uint32_t tracked, int a, int b) {
  return {.in = 2u | (tracked >> a & 1u) << b | (tracked >> b & 1u) << a};
}

}  // namespace

Saves Blend::saves(std::uint32_t tracked) const { return saves_index_and_other(tracked, x, weight); }
Descs Blend::infer(Inputs in) const {
  require_count(kName, in, 3, 3);
  require_operands(kName, in[x], in[index]);
  require_weight(kName, in[x], in[index], in[weight]);
  return one({in[x].dim(0), in[x].dim(1), in[index].dim(1)}, in[x].dtype());
}
void Blend::vjp(Backward& backward) const {
  const Value g = backward.grad();
  backward.to(x, [&] {
    return emit(BlendTranspose{backward.in_desc(x).shape[2]}, {g, backward.in(index), backward.in(weight)});
  });
  backward.to(weight, [&] { return emit(BlendWeightGrad{}, {backward.in(x), backward.in(index), g}); });
}

Saves BlendTranspose::saves(std::uint32_t tracked) const { return saves_index_and_other(tracked, y, weight); }
Descs BlendTranspose::infer(Inputs in) const {
  require_count(kName, in, 3, 3);
  require_operands(kName, in[y], in[index]);
  require_weight(kName, in[y], in[index], in[weight]);
  require_points(kName, in[y], in[index]);
  return one({in[y].dim(0), in[y].dim(1), size}, in[y].dtype());
}
void BlendTranspose::vjp(Backward& backward) const {
  const Value g = backward.grad();
  backward.to(y, [&] { return emit(Blend{}, {g, backward.in(index), backward.in(weight)}); });
  backward.to(weight, [&] { return emit(BlendWeightGrad{}, {g, backward.in(index), backward.in(y)}); });
}

Saves BlendWeightGrad::saves(std::uint32_t tracked) const { return saves_index_and_other(tracked, x, y); }
Descs BlendWeightGrad::infer(Inputs in) const {
  require_count(kName, in, 3, 3);
  require_operands(kName, in[x], in[index]);
  require_tensor(kName, in[y]);
  require_same_dtype(kName, in[x], in[y]);
  require<ShapeError>(in[y].rank() == 3 && in[y].dim(0) == in[x].dim(0) && in[y].dim(1) == in[x].dim(1), kName, ": ",
                      in[x], " and ", in[y], " differ in batch or channels");
  require_points(kName, in[y], in[index]);
  return one(in[index].shape(), in[x].dtype());
}
void BlendWeightGrad::vjp(Backward& backward) const {
  const Value g = backward.grad();
  backward.to(
      x, [&] { return emit(BlendTranspose{backward.in_desc(x).shape[2]}, {backward.in(y), backward.in(index), g}); });
  backward.to(y, [&] { return emit(Blend{}, {backward.in(x), backward.in(index), g}); });
}

}  // namespace kiln::op
