#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/core/wrapping.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::cpu::reference {
namespace {

constexpr std::int64_t kChunk = 256;

/// Folds, for each element of z, the elements of x along `dims` by step(so far, next) from `start`, then calls finish.
template <class C, class A, class Step, class Finish>
void fold(const Array& x, const Array& z, const Dims& dims, A start, Step step, Finish finish) {
  Shape folded = Shape::filled(x.shape.size(), 1);
  for (const auto dim : dims) folded[static_cast<int>(dim)] = x.shape[static_cast<int>(dim)];
  const Rows<2> outer(z.shape, {z.strides, x.strides});
  const Rows<1> inner(folded, {x.strides});
  C chunk[kChunk];
  outer.each([&](const auto& outer_offsets) {
    for (std::int64_t i = 0; i < outer.length(); ++i) {
      A so_far = start;
      const std::int64_t first = outer_offsets[1] + i * outer.steps()[1], stride = inner.steps()[0];
      inner.each([&](const auto& offsets) {
        for (std::int64_t begin = 0; begin < inner.length(); begin += kChunk) {
          const std::int64_t count = std::min(kChunk, inner.length() - begin);
          load(x, first + offsets[0] + begin * stride, stride, count, chunk);
          for (std::int64_t k = 0; k < count; ++k) so_far = step(so_far, chunk[k]);
        }
      });
      const auto result = finish(so_far);
      store(&result, 1, z, outer_offsets[0] + i * outer.steps()[0], 1);
    }
  });
}

// The least value of C; for floats this is minus infinity.
template <class C>
constexpr C least() {
  using Limits = std::numeric_limits<C>;
  return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
}
template <class C>
constexpr C greatest() {
  using Limits = std::numeric_limits<C>;
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

template <class C>
void reduce(const op::Reduce& op, const Array& x, const Array& z) {
  using A = Accumulator<C>;
  const auto same = [](auto value) { return value; };
  switch (op.fn) {
    case op::ReduceFn::Sum:
      return fold<C>(x, z, op.dims, A{0}, [](A a, C b) { return wrapping_add(a, static_cast<A>(b)); }, same);
    case op::ReduceFn::Prod:
      return fold<C>(x, z, op.dims, A{1}, [](A a, C b) { return wrapping_multiply(a, static_cast<A>(b)); }, same);
    case op::ReduceFn::Mean: {
      double count = 1;
      for (const auto dim : op.dims) count *= static_cast<double>(x.shape[static_cast<int>(dim)]);
      return fold<C>(
          x, z, op.dims, 0.0, [](double a, C b) { return a + static_cast<double>(b); },
          [&](double sum) { return sum / count; });
    }
    case op::ReduceFn::Max:
      return fold<C>(x, z, op.dims, least<C>(), [](C a, C b) { return b != b || b > a ? b : a; }, same);
    case op::ReduceFn::Min:
      return fold<C>(x, z, op.dims, greatest<C>(), [](C a, C b) { return b != b || b < a ? b : a; }, same);
    case op::ReduceFn::Any: return fold<C>(x, z, op.dims, C{0}, [](C a, C b) { return C(a != 0 || b != 0); }, same);
    case op::ReduceFn::Length:
      return fold<C>(
          x, z, op.dims, 0.0,
          [](double a, C b) {
            const auto next = static_cast<double>(b);
            return a != a || next != next ? std::numeric_limits<double>::quiet_NaN() : std::hypot(a, next);
          },
          same);
    case op::ReduceFn::All: return fold<C>(x, z, op.dims, C{1}, [](C a, C b) { return C(a != 0 && b != 0); }, same);
  }
}

/// Whether `x` is a better extreme than `best`. An equal one is not: the first wins. NaN beats everything but NaN.
template <class C>
bool beats(op::ArgFn fn, C x, C best) {
  if (best != best) return false;
  if (x != x) return true;
  return fn == op::ArgFn::ArgMax ? x > best : x < best;
}

}  // namespace

template <>
void run(const op::Reduce& op, Call call) {
  const Array x = read(call.in[0]), z = allocate(call.out[0]);
  if (z.numel() == 0) return;  // sizes beside a 0 may have any product
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) { reduce<C>(op, x, z); });
}

template <>
void run(const op::ArgReduce& op, Call call) {
  const Array x = read(call.in[0]), z = allocate(call.out[0]);
  const int dim = wrap_dim(name(op.fn), op.dim, x.shape.size());
  struct BestElement {
    std::int64_t seen = 0, index = 0;
  };
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    C best{};
    fold<C>(
        x, z, Dims{dim}, BestElement{},
        [&](BestElement found, C element) {
          if (found.seen == 0 || beats(op.fn, element, best)) {
            best = element;
            found.index = found.seen;
          }
          ++found.seen;
          return found;
        },
        [](BestElement found) { return found.index; });
  });
}

}  // namespace kiln::cpu::reference
