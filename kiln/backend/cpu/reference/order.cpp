#include "kiln/ops/reduce/order_ops.hpp"

#include <algorithm>
#include <numeric>

#include "kiln/backend/cpu/lines.hpp"
#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"

namespace kiln::cpu::reference {
namespace {

/// NaN counts as larger than any number, so that the order is total.
template <class C>
bool before(C a, C b) {
  return a < b || (b != b && a == a);
}

/// Finds the first `count` elements of each line along `dim`, in order, and their indices.
template <class C>
void ordered(const Array& array, std::span<Value> out, int dim, std::int64_t count, bool descending) {
  const RowMajor<C> x(array);
  Result<C> values(out[0]);
  Result<std::int64_t> indices(out[1]);
  const Lines lines(array.shape, dim);
  const std::int64_t size = lines.length, inner = lines.inner;
  std::vector<std::int64_t> places(static_cast<std::size_t>(size));
  for (std::int64_t line = 0; size > 0 && line < lines.count(); ++line) {
    const std::int64_t outer = line / inner, from = outer * size * inner + line % inner;
    const auto value = [&](std::int64_t place) { return x[from + place * inner]; };
    std::iota(places.begin(), places.end(), std::int64_t{0});
    std::partial_sort(places.begin(), places.begin() + count, places.end(), [&](std::int64_t a, std::int64_t b) {
      const bool less = before(value(a), value(b)), greater = before(value(b), value(a));
      return less != greater ? less != descending : a < b;
    });
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t to = (outer * count + i) * inner + line % inner, place = places[static_cast<std::size_t>(i)];
      values[to] = value(place);
      indices[to] = place;
    }
  }
  values.store();
}

}  // namespace

template <>
void run(const op::Sort& op, Call call) {
  const Array x = read(call.in[0]);
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) { ordered<C>(x, call.out, op.dim, x.shape[op.dim], op.descending); });
}

template <>
void run(const op::TopK& op, Call call) {
  const Array x = read(call.in[0]);
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) { ordered<C>(x, call.out, op.dim, op.k, op.largest); });
}

template <>
void run(const op::SearchSorted& op, Call call) {
  using op::SearchSorted;
  const Array lines = read(call.in[SearchSorted::sorted]), wanted = read(call.in[SearchSorted::values]);
  const std::int64_t length = lines.shape.back();
  const std::int64_t each = lines.shape.size() == 1 ? wanted.numel() : wanted.shape.back();
  visit_compute(lines.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> sorted(lines), values(wanted);
    Result<std::int64_t> z(call.out[0]);
    for (std::int64_t i = 0; i < wanted.numel(); ++i) {
      const C* line = sorted.data() + i / each * length;
      const C* found = op.right ? std::upper_bound(line, line + length, values[i], before<C>)
                                : std::lower_bound(line, line + length, values[i], before<C>);
      z[i] = found - line;
    }
  });
}

}  // namespace kiln::cpu::reference
