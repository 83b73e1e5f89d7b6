#include "kiln/ops/index/index_ops.hpp"

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/reduce/point.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

/// Checks that the index of Gather or Scatter fits x in every dimension but `dim`; returns that dimension.
int require_alongside(std::string_view name, const Value& x, const Value& index, int dim) {
  require_tensor(name, x);
  require_index(name, index);
  const int at = require_dim(name, dim, x.rank());
  bool fits = index.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == at || index.shape()[i] <= x.shape()[i];
  require<ShapeError>(fits, name, ": index ", index.shape(), " does not fit ", x.shape(), " beside dimension ", at);
  return at;
}

Shape selected_shape(std::string_view name, const Value& x, const Value& index, int dim) {
  require_tensor(name, x);
  require_index(name, index);
  const int at = require_dim(name, dim, x.rank());
  Shape shape(x.shape().begin(), x.shape().begin() + at);
  for (const auto size : index.shape()) shape.push_back(size);
  for (int i = at + 1; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
  return shape;
}

/// A tensor like `like` with `number` everywhere, stored as one element.
Value constant(double number, const Desc& like, const Device& device) {
  return kiln::expand(full({}, number, device, like.dtype), like.shape);
}

/// The operands that the gradients of Scatter and SelectUpdate need.
Saves saves_of_update(Update update, std::uint32_t tracked) {
  const std::uint32_t x = 1u << Scatter::x, index = 1u << Scatter::index, source = 1u << Scatter::source;
  switch (update) {
    case Update::Add: return {.in = tracked & source ? index : 0};
    case Update::Assign: return {.in = index};
    case Update::Mul: return {.in = index | source | (tracked & source ? x : 0)};
    case Update::Min:
    case Update::Max: return {.in = x | index | source, .out = true};
  }
  __builtin_unreachable();
}

/// For each element of source, the product of the other elements that go to the same position: a quotient, except that
/// zeros are counted and summed instead of multiplied and divided by. A single remaining zero is a sum, and so has a
/// gradient.
template <class Read, class Write>
Value product_of_others(const Value& source, const Desc& x, Read read, Write write) {
  const Device device = source.device();
  const Value is_zero = eq(source, 0), flag = cast(is_zero, x.dtype);
  const Value zero = where(is_zero, source, 0.0), nonzero = where(is_zero, 1.0, source);
  const Value product = read(write(constant(1, x, device), nonzero, Update::Mul)) / nonzero;
  const Value zeros = read(write(constant(0, x, device), flag, Update::Add)) - flag;
  const Value other_zero = read(write(constant(0, x, device), zero, Update::Add)) - zero;
  return product * where(eq(zeros, 0), 1.0, where(eq(zeros, 1), other_zero, 0.0));
}

/// The gradients of Scatter and SelectUpdate, which have the same slots. read(t) gathers the elements of a tensor like
/// x for the source, write(t, s, update) is the op on other tensors, and won() tells which elements of the source were
/// written last.
template <class Read, class Write, class Won>
void vjp_of_update(Update update, Backward& backward, Read read, Write write, Won won) {
  const Value g = backward.grad();
  const int x = Scatter::x, source = Scatter::source;
  const Desc &x_desc = backward.in_desc(x), &source_desc = backward.in_desc(source);
  switch (update) {
    case Update::Add:
      backward.to(x, [&] { return g; });
      backward.to(source, [&] { return read(g); });
      return;
    case Update::Assign:
      backward.to(x, [&] { return write(g, constant(0, source_desc, backward.device()), Update::Assign); });
      backward.to(source, [&] { return where(won(), read(g), 0.0); });
      return;
    case Update::Mul:
      backward.to(x,
                  [&] { return g * write(constant(1, x_desc, backward.device()), backward.in(source), Update::Mul); });
      backward.to(source, [&] {
        return read(g * backward.in(x)) * product_of_others(backward.in(source), x_desc, read, write);
      });
      return;
    case Update::Min:
    case Update::Max: {
      const Value z = backward.out();
      const Value x_chosen = cast(eq(backward.in(x), z), g.dtype());
      const Value source_chosen = cast(eq(backward.in(source), read(z)), g.dtype());
      const Value share = g / write(x_chosen, source_chosen, Update::Add);
      backward.to(x, [&] { return x_chosen * share; });
      backward.to(source, [&] { return source_chosen * read(share); });
      return;
    }
  }
}

}  // namespace

Descs Gather::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_alongside(kName, in[x], in[index], dim);
  return one(in[index].shape(), in[x].dtype());
}
void Gather::vjp(Backward& backward) const {
  backward.to(x, [&] {
    return scatter_add(constant(0, backward.in_desc(x), backward.device()), dim, backward.in(index), backward.grad());
  });
}

Descs Scatter::infer(Inputs in) const {
  require_count(function_name(), in, 3, 3);
  require_alongside(function_name(), in[x], in[index], dim);
  require_tensor(function_name(), in[source]);
  require_same_dtype(function_name(), in[x], in[source]);
  require<ShapeError>(in[source].shape() == in[index].shape(), function_name(), ": source ", in[source].shape(),
                      " must have the shape of index ", in[index].shape());
  return one(in[x].shape(), in[x].dtype());
}
Saves Scatter::saves(std::uint32_t tracked) const { return saves_of_update(update, tracked); }
void Scatter::vjp(Backward& backward) const {
  const auto read = [&](const Value& t) { return gather(t, dim, backward.in(index)); };
  const auto write = [&](const Value& t, const Value& s, Update mode) {
    return emit(Scatter{dim, mode}, {t, backward.in(index), s});
  };
  vjp_of_update(update, backward, read, write, [&] {
    const Shape& shape = backward.in_desc(source).shape;
    const Value number = kiln::reshape(arange(0, numel(shape), 1, backward.device()), shape);
    const Desc last{backward.in_desc(x).shape, DType::I64};
    return eq(read(write(constant(0, last, backward.device()), number, Update::Assign)), number);
  });
}

Descs Select::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  return one(selected_shape(kName, in[x], in[index], dim), in[x].dtype());
}
void Select::vjp(Backward& backward) const {
  backward.to(x, [&] {
    return select_add(constant(0, backward.in_desc(x), backward.device()), dim, backward.in(index), backward.grad());
  });
}

Descs SelectSum::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_float(kName, in[x]);
  require_index(kName, in[index]);
  require<ShapeError>(in[x].rank() == 2 && in[index].rank() == 2, kName, ": ", in[x], " and ", in[index],
                      " must be [count, size] and [bags, entries]");
  return one({in[index].dim(0), in[x].dim(1)}, in[x].dtype());
}
Values SelectSum::expand(Inputs in) const { return {sum(select(in[x], 0, in[index]), {1})}; }
void SelectSum::vjp(Backward& backward) const {
  backward.to(x, [&] {
    const Value& at = backward.in(index);
    const Value rows = kiln::expand(unsqueeze(backward.grad(), 1), {at.dim(0), at.dim(1), backward.grad().dim(1)});
    return select_add(constant(0, backward.in_desc(x), backward.device()), 0, at, rows);
  });
}

Descs SelectUpdate::infer(Inputs in) const {
  require_count(function_name(), in, 3, 3);
  const Shape shape = selected_shape(function_name(), in[x], in[index], dim);
  require_tensor(function_name(), in[source]);
  require_same_dtype(function_name(), in[x], in[source]);
  require<ShapeError>(in[source].shape() == shape, function_name(), ": source ", in[source].shape(),
                      " must have shape ", shape, ", which index ", in[index].shape(), " selects of ", in[x].shape());
  return one(in[x].shape(), in[x].dtype());
}
Saves SelectUpdate::saves(std::uint32_t tracked) const { return saves_of_update(update, tracked); }
void SelectUpdate::vjp(Backward& backward) const {
  const auto read = [&](const Value& t) { return select(t, dim, backward.in(index)); };
  const auto write = [&](const Value& t, const Value& s, Update mode) {
    return emit(SelectUpdate{dim, mode}, {t, backward.in(index), s});
  };
  vjp_of_update(update, backward, read, write, [&] {
    // A slice wins as a whole: one number for each slice.
    const Value& at = backward.in(index);
    const Shape& shape = backward.in_desc(x).shape;
    const Value number = kiln::reshape(arange(0, at.numel(), 1, backward.device()), at.shape());
    const Desc last{{shape[dim]}, DType::I64};
    const Value written = emit(SelectUpdate{0, Update::Assign}, {constant(0, last, backward.device()), at, number});
    Shape beside = at.shape();
    for (int i = dim + 1; i < shape.size(); ++i) beside.push_back(1);
    return kiln::reshape(eq(select(written, 0, at), number), beside);
  });
}

Descs RavelIndex::infer(Inputs in) const {
  require<ArgumentError>(!shape.empty() && static_cast<int>(in.size()) == shape.size(), kName, ": ", in.size(),
                         " indices for a shape ", shape);
  numel(shape);
  Shape result;
  for (const Value& index : in) {
    require_index(kName, index);
    result = broadcast(kName, result, index.shape());
  }
  return one(result, DType::I64);
}

Descs Nonzero::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  require<DTypeError>(in[0].dtype() == DType::Bool, kName, ": needs a boolean tensor, got ", in[0]);
  require<ArgumentError>(0 <= count && count <= in[0].numel(), kName, ": ", count, " of the elements of ", in[0]);
  return one({count}, DType::I64);
}

Descs MaskSelect::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_tensor(kName, in[x]);
  (void)Nonzero{count}.infer(in.subspan(mask, 1));
  require<ShapeError>(in[x].shape() == in[mask].shape(), kName, ": mask ", in[mask].shape(), " must have the shape of ",
                      in[x]);
  return one({count}, in[x].dtype());
}
Values MaskSelect::expand(Inputs in) const {
  return {select(reshape(in[x], {in[x].numel()}), 0, emit(Nonzero{count}, {in[mask]}))};
}
void MaskSelect::vjp(Backward& backward) const {
  backward.to(x, [&] {
    const Desc& like = backward.in_desc(x);
    const Value places = emit(Nonzero{count}, {backward.in(mask)});
    const Value none = constant(0, {{numel(like.shape)}, like.dtype}, backward.device());
    return reshape(select_add(none, 0, places, backward.grad()), like.shape);
  });
}

}  // namespace op

namespace {

Value line_if_point(const Value& x) { return x.node() && x.rank() == 0 ? line_of(x) : x; }

}  // namespace

Value gather(const Value& x, Dim dim, const Value& index) {
  if (is_point("gather", x, dim)) return reshape(gather(line_of(x), 0, line_if_point(index)), index.shape());
  return emit(op::Gather{wrap_dim("gather", dim, x.rank())}, {x, index});
}
Value scatter(const Value& x, Dim dim, const Value& index, const Value& source, Update update) {
  if (is_point("scatter", x, dim))
    return point_of(scatter(line_of(x), 0, line_if_point(index), line_if_point(source), update));
  const op::Scatter op{wrap_dim("scatter", dim, x.rank()), update};
  return emit(op,
              {x, index, source.is_scalar() ? full(index.shape(), source.scalar(), x.device(), x.dtype()) : source});
}
Value scatter_add(const Value& x, Dim dim, const Value& index, const Value& source) {
  return scatter(x, dim, index, source, Update::Add);
}
Value select(const Value& x, Dim dim, const Value& index) {
  if (is_point("select", x, dim)) return select(line_of(x), 0, index);
  return emit(op::Select{wrap_dim("select", dim, x.rank())}, {x, index});
}
Value select_assign(const Value& x, Dim dim, const Value& index, const Value& source, Update update) {
  if (is_point("select_assign", x, dim)) return point_of(select_assign(line_of(x), 0, index, source, update));
  const op::SelectUpdate op{wrap_dim("select_assign", dim, x.rank()), update};
  if (!source.is_scalar()) return emit(op, {x, index, source});
  const Value number = full({}, source.scalar(), x.device(), x.dtype());
  return emit(op, {x, index, expand(number, op::selected_shape("select_assign", x, index, op.dim))});
}
Value select_add(const Value& x, Dim dim, const Value& index, const Value& source) {
  return select_assign(x, dim, index, source, Update::Add);
}

Value ravel_index(Inputs indices, const Shape& shape) { return emit(op::RavelIndex{shape}, indices); }

Value flat_nonzero(const Value& x) {
  const Value flags = cast(x, DType::Bool);
  return emit(op::Nonzero{static_cast<std::int64_t>(sum(flags).item())}, {flags});
}

Value one_hot(const Value& index, std::int64_t classes, DType dtype) {
  const CalledAs named("one_hot");
  op::require_index("one_hot", index);
  require<ArgumentError>(classes >= 0, "one_hot: ", classes, " classes");
  multiply_sizes("one_hot", index.numel(), classes);
  // The shortest type that holds all classes, -1 and one value beyond them.
  const DType narrow = classes < 127 ? DType::I8 : classes < 32767 ? DType::I16 : DType::I64;
  const Value wide = cast(index, DType::I64),
              own = narrow == DType::I64 ? wide : cast(clamp(wide, -1, classes), narrow);
  return cast(eq(unsqueeze(own, -1), arange(0, classes, 1, index.device(), narrow)), dtype);
}

}  // namespace kiln
