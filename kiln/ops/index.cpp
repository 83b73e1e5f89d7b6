#include "kiln/ops/index.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

/// The index of Gather and ScatterAdd fits x in every dimension but `dim`.
int require_alongside(std::string_view name, const Value& x, const Value& index, int dim) {
  require_tensor(name, x);
  require_index(name, index);
  const int at = wrap_dim(name, dim, x.rank());
  bool fits = index.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == at || index.shape()[i] <= x.shape()[i];
  require<ShapeError>(fits, name, ": index ", index.shape(), " does not fit ", x.shape(), " beside dimension ", at);
  return at;
}

Shape selected_shape(std::string_view name, const Value& x, const Value& index, int dim) {
  require_tensor(name, x);
  require_index(name, index);
  const int at = wrap_dim(name, dim, x.rank());
  Shape shape(x.shape().begin(), x.shape().begin() + at);
  for (const auto size : index.shape()) shape.push_back(size);
  for (int i = at + 1; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
  return shape;
}

}  // namespace

Descs Gather::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_alongside(kName, in[x], in[index], dim);
  return one(in[index].shape(), in[x].dtype());
}
void Gather::vjp(Backward& backward) const {
  backward.to(x, [&] {
    const Desc& desc = backward.in_desc(x);
    return scatter_add(zeros(desc.shape, backward.device(), desc.dtype), dim, backward.in(index), backward.grad());
  });
}

Descs ScatterAdd::infer(Inputs in) const {
  require_count(kName, in, 3, 3);
  require_alongside(kName, in[x], in[index], dim);
  require_tensor(kName, in[source]);
  require_same_dtype(kName, in[x], in[source]);
  require<ShapeError>(in[source].shape() == in[index].shape(), "scatter_add: source ", in[source].shape(),
                      " must have the shape of index ", in[index].shape());
  return one(in[x].shape(), in[x].dtype());
}
void ScatterAdd::vjp(Backward& backward) const {
  backward.to(x, [&] { return backward.grad(); });
  backward.to(source, [&] { return gather(backward.grad(), dim, backward.in(index)); });
}

Descs Select::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  return one(selected_shape(kName, in[x], in[index], dim), in[x].dtype());
}
void Select::vjp(Backward& backward) const {
  backward.to(x, [&] {
    const Desc& desc = backward.in_desc(x);
    return select_add(zeros(desc.shape, backward.device(), desc.dtype), dim, backward.in(index), backward.grad());
  });
}

Descs SelectAdd::infer(Inputs in) const {
  require_count(kName, in, 3, 3);
  const Shape shape = selected_shape(kName, in[x], in[index], dim);
  require_tensor(kName, in[source]);
  require_same_dtype(kName, in[x], in[source]);
  require<ShapeError>(in[source].shape() == shape, "select_add: source ", in[source].shape(), " must have shape ",
                      shape, ", which index ", in[index].shape(), " selects of ", in[x].shape());
  return one(in[x].shape(), in[x].dtype());
}
void SelectAdd::vjp(Backward& backward) const {
  backward.to(x, [&] { return backward.grad(); });
  backward.to(source, [&] { return select(backward.grad(), dim, backward.in(index)); });
}

}  // namespace op

Value gather(const Value& x, int dim, const Value& index) {
  return emit(op::Gather{wrap_dim("gather", dim, x.rank())}, {x, index});
}
Value scatter_add(const Value& x, int dim, const Value& index, const Value& source) {
  return emit(op::ScatterAdd{wrap_dim("scatter_add", dim, x.rank())}, {x, index, source});
}
Value select(const Value& x, int dim, const Value& index) {
  return emit(op::Select{wrap_dim("select", dim, x.rank())}, {x, index});
}
Value select_add(const Value& x, int dim, const Value& index, const Value& source) {
  return emit(op::SelectAdd{wrap_dim("select_add", dim, x.rank())}, {x, index, source});
}

Value one_hot(const Value& index, std::int64_t classes, DType dtype) {
  op::require_index("one_hot", index);
  require<ArgumentError>(classes >= 0, "one_hot: ", classes, " classes");
  return cast(eq(unsqueeze(index, -1), arange(0, classes, 1, index.device(), index.dtype())), dtype);
}

}  // namespace kiln
