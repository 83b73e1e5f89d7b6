#include "kiln/ops/collective/collective_ops.hpp"

#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

int ranks_of(std::string_view op, std::int64_t among) { return Communicator::find(op, among)->size(); }

void require_combined(std::string_view op, ReduceFn fn, const Value& x) {
  require<ArgumentError>(fn == ReduceFn::Sum || fn == ReduceFn::Mean || fn == ReduceFn::Max || fn == ReduceFn::Min, op,
                         ": takes sum, mean, max or min, got ", name(fn));
  require<DTypeError>(x.dtype() != DType::Bool, op, ": takes no booleans, got ", x);
  require<DTypeError>(fn != ReduceFn::Mean || is_float(x.dtype()), op, ": a mean is of floats, got ", x);
}

/// Checks that there is one operand: a tensor with at least `least_rank` dimensions.
void require_one(std::string_view op, Inputs in, int least_rank) {
  require_count(op, in, 1, 1);
  require_tensor(op, in[0]);
  require<ShapeError>(in[0].rank() >= least_rank, op, ": takes a tensor of one dimension or more, got ", in[0]);
}

bool is_extreme(ReduceFn fn) { return fn == ReduceFn::Max || fn == ReduceFn::Min; }

/// Starts the call at once, in the order of the program, not when its result is read: the other ranks wait for it.
Value sent(Value result) {
  result.device().flush();
  return result;
}

Value all_reduced(const Value& x, ReduceFn fn, std::int64_t among) { return sent(emit(AllReduce{fn, among}, {x})); }
Value all_gathered(const Value& x, std::int64_t among) { return sent(emit(AllGather{among}, {x})); }

/// The gradient of an extreme goes to the elements of all ranks that equal it, in equal parts.
Value shared_among_equals(const Value& x, const Value& extreme, const Value& grad, std::int64_t among) {
  const Value chosen = cast(eq(x, extreme), grad.dtype());
  return chosen * (grad / all_reduced(chosen, ReduceFn::Sum, among));
}

}  // namespace

Descs AllReduce::infer(Inputs in) const {
  require_one(kName, in, 0);
  require_combined(kName, how, in[0]);
  ranks_of(kName, among);
  return one(in[0].shape(), in[0].dtype());
}
Saves AllReduce::saves(std::uint32_t) const { return {.in = is_extreme(how), .out = is_extreme(how)}; }
void AllReduce::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Value grad = all_reduced(backward.grad(), is_extreme(how) ? ReduceFn::Sum : how, among);
    return is_extreme(how) ? shared_among_equals(backward.in(0), backward.out(), grad, among) : grad;
  });
}

Descs Broadcast::infer(Inputs in) const {
  require_one(kName, in, 0);
  const int ranks = ranks_of(kName, among);
  require<ArgumentError>(root >= 0 && root < ranks, kName, ": there is no rank ", root, " of ", ranks);
  return one(in[0].shape(), in[0].dtype());
}
void Broadcast::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Value grad = all_reduced(backward.grad(), ReduceFn::Sum, among);
    return Communicator::find(kName, among)->rank() == root ? grad : zeros_like(grad);
  });
}

Descs AllGather::infer(Inputs in) const {
  require_one(kName, in, 1);
  Shape shape = in[0].shape();
  shape[0] = multiply_sizes(kName, shape[0], ranks_of(kName, among));
  return one(shape, in[0].dtype());
}
void AllGather::vjp(Backward& backward) const {
  backward.to(0, [&] { return sent(emit(ReduceScatter{ReduceFn::Sum, among}, {backward.grad()})); });
}

Descs ReduceScatter::infer(Inputs in) const {
  require_one(kName, in, 1);
  require_combined(kName, how, in[0]);
  Shape shape = in[0].shape();
  const int ranks = ranks_of(kName, among);
  require<ShapeError>(shape[0] % ranks == 0, kName, ": ", ranks, " ranks do not divide dimension 0 of ", shape);
  shape[0] /= ranks;
  return one(shape, in[0].dtype());
}
Saves ReduceScatter::saves(std::uint32_t) const { return {.in = is_extreme(how), .out = is_extreme(how)}; }
void ReduceScatter::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Value grad = all_gathered(backward.grad(), among);
    if (is_extreme(how)) return shared_among_equals(backward.in(0), all_gathered(backward.out(), among), grad, among);
    return how == ReduceFn::Mean ? grad / Communicator::find(kName, among)->size() : grad;
  });
}

}  // namespace op

namespace {

std::int64_t number_of(std::string_view op, const Ranks& among) {
  require<ArgumentError>(among != nullptr, op, ": no communicator was given");
  return among->number();
}

op::ReduceFn reduction(std::string_view op, Combine how) {
  switch (how) {
    case Combine::Sum: return op::ReduceFn::Sum;
    case Combine::Mean: return op::ReduceFn::Mean;
    case Combine::Max: return op::ReduceFn::Max;
    case Combine::Min: return op::ReduceFn::Min;
    case Combine::Prod: break;
  }
  fail<ArgumentError>(op, ": takes sum, mean, max or min, not the product of ranks");
}

}  // namespace

Value all_reduce(const Value& x, const Ranks& among, Combine how) {
  constexpr auto kName = op::AllReduce::kName;
  return op::sent(emit(op::AllReduce{reduction(kName, how), number_of(kName, among)}, {x}));
}
Value broadcast(const Value& x, const Ranks& among, int root) {
  return op::sent(emit(op::Broadcast{root, number_of(op::Broadcast::kName, among)}, {x}));
}
Value all_gather(const Value& x, const Ranks& among) {
  return op::sent(emit(op::AllGather{number_of(op::AllGather::kName, among)}, {x}));
}
Value reduce_scatter(const Value& x, const Ranks& among, Combine how) {
  constexpr auto kName = op::ReduceScatter::kName;
  return op::sent(emit(op::ReduceScatter{reduction(kName, how), number_of(kName, among)}, {x}));
}

}  // namespace kiln
