#include "kiln/ops/reduce/order_ops.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/point.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

/// The adjoint of choosing elements along `dim`: gradients go to the positions from which the elements came.
void put_back(Backward& backward, int dim, int values, int indices) {
  backward.to(0, [&] {
    const Desc& x = backward.in_desc(0);
    return scatter_add(zeros(x.shape, backward.device(), x.dtype), dim, backward.out(indices), backward.grad(values));
  });
}

}  // namespace

Descs Sort::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  require_dim(kName, dim, in[0].rank());
  return Descs{Desc{in[0].shape(), in[0].dtype()}, Desc{in[0].shape(), DType::I64}};
}
void Sort::vjp(Backward& backward) const { put_back(backward, dim, values, indices); }

Descs TopK::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  Shape shape = in[0].shape();
  const int at = require_dim(kName, dim, shape.size());
  require<ArgumentError>(0 <= k && k <= shape[at], kName, ": k is ", k, " but dimension ", at, " has ", shape[at],
                         " elements");
  shape[at] = k;
  return Descs{Desc{shape, in[0].dtype()}, Desc{shape, DType::I64}};
}
void TopK::vjp(Backward& backward) const { put_back(backward, dim, values, indices); }

Descs SearchSorted::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_tensor(kName, in[sorted]);
  require_tensor(kName, in[values]);
  require_same_dtype(kName, in[sorted], in[values]);
  const Shape &lines = in[sorted].shape(), &shape = in[values].shape();
  bool fits = lines.size() == 1 || (lines.size() > 1 && lines.size() == shape.size());
  for (int i = 0; fits && i + 1 < lines.size(); ++i) fits = lines[i] == shape[i];
  require<ShapeError>(fits, kName, ": the sorted ", lines,
                      " has neither one dimension nor, but for the last, those of ", shape);
  return one(shape, DType::I64);
}

}  // namespace op

ValueWithIndices sort(const Value& x, Dim dim, bool descending) {
  op::require_tensor(op::Sort::kName, x);
  if (is_point(op::Sort::kName, x, dim)) return point_of(sort(line_of(x), 0, descending));
  const Values results = emit_all(op::Sort{wrap_dim(op::Sort::kName, dim, x.rank()), descending}, {x});
  return {results[op::Sort::values], results[op::Sort::indices]};
}

ValueWithIndices topk(const Value& x, std::int64_t k, Dim dim, bool largest) {
  op::require_tensor(op::TopK::kName, x);
  if (is_point(op::TopK::kName, x, dim)) return point_of(topk(line_of(x), k, 0, largest));
  const Values results = emit_all(op::TopK{k, wrap_dim(op::TopK::kName, dim, x.rank()), largest}, {x});
  return {results[op::TopK::values], results[op::TopK::indices]};
}

Value searchsorted(const Value& sorted, const Value& values, bool right) {
  op::require_tensor(op::SearchSorted::kName, sorted);
  if (values.is_scalar()) {
    const DType dtype = promote_scalar(sorted.dtype(), values.scalar().kind());
    return emit(op::SearchSorted{right}, {cast(sorted, dtype), full({}, values.scalar(), sorted.device(), dtype)});
  }
  op::require_tensor(op::SearchSorted::kName, values);
  const DType dtype = promote(sorted.dtype(), values.dtype());
  return emit(op::SearchSorted{right}, {cast(sorted, dtype), cast(values, dtype)});
}

}  // namespace kiln
