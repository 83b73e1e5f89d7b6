#include "kiln/compile/nest.hpp"

#include <algorithm>

#include "kiln/compile/nesting.hpp"
#include "kiln/compile/tile.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::compile {
namespace {

std::int64_t begin_of(const Dims& begin, int dim) { return dim < begin.size() ? begin[dim] : 0; }

Access moved(const Access& access, int operand, const Axes& axes, const Dims& begin) {
  Access result = access;
  result.strides = Counts(axes.size(), 0);
  for (std::size_t dim = 0; dim < access.strides.size(); ++dim)
    result.offset += begin_of(begin, static_cast<int>(dim)) * access.strides[dim];
  for (std::size_t d = 0; d < axes.size(); ++d)
    for (const Term& term : axes[d].terms)
      if (term.operand == operand)
        result.strides[d] += term.factor * access.strides[static_cast<std::size_t>(term.dim)];
  return result;
}

std::int64_t size_of(const Axes& axes) {
  std::int64_t size = 1;
  for (const Axis& axis : axes) size *= axis.size;
  return size;
}

Expression product(const Contraction& contraction, const Axes& axes, DType dtype) {
  Expression value = placed(contraction.a, 0, axes, contraction.begin[0]);
  const op::ProgramOperand left = value.value,
                           right = append(value, placed(contraction.b, 1, axes, contraction.begin[1]));
  op::ProgramStep step{kMultiply, {left, right}, dtype};
  value.value = {op::ProgramOperand::Result, static_cast<std::uint16_t>(value.steps.size())};
  value.steps.push_back(step);
  return value;
}

}  // namespace

Expression placed(const View& view, int operand, const Axes& axes, const Dims& begin) {
  Expression value = view.value;
  for (Operand& each : value.in)
    if (!each.is_number) each.access = moved(each.access, operand, axes, begin);
  return value;
}

Access places(const View& view, int operand, const Axes& axes, const Dims& begin) {
  return moved(view.access(), operand, axes, begin);
}

std::vector<Guard> guards(const Shape& shape, int operand, const Axes& axes, const Dims& begin) {
  std::vector<Guard> list;
  for (int dim = 0; dim < shape.size(); ++dim) {
    Guard guard{Counts(axes.size(), 0), begin_of(begin, dim), shape[dim]};
    std::int64_t last = guard.offset;
    for (std::size_t d = 0; d < axes.size(); ++d)
      for (const Term& term : axes[d].terms)
        if (term.operand == operand && term.dim == dim) {
          guard.strides[d] += term.factor;
          last += term.factor * std::max<std::int64_t>(axes[d].size - 1, 0);
        }
    if (guard.offset < 0 || last >= guard.size) list.push_back(std::move(guard));
  }
  return list;
}

Counts sizes_of(const Axes& axes) {
  Counts sizes;
  for (const Axis& axis : axes) sizes.push_back(axis.size);
  return sizes;
}

Axes joined(const Axes& a, const Axes& b, const Axes& c) {
  Axes all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

/// The sums as a loop in tiles, if they can be.
static std::optional<Loop> in_tiles(Lowering& to, const Contraction& contraction) {
  const View& start = contraction.start;
  const bool starts = !start.value.in.empty();
  if (!to.tiles || contraction.scatters || contraction.guarded >= 0 || (starts && !start.is_plain())) return {};
  const Axes axes = joined(contraction.outer, contraction.inner, contraction.reduced);
  Loop loop;
  loop.mode = Mode::Fold;
  loop.kept = static_cast<int>(axes.size() - contraction.reduced.size());
  loop.sizes = sizes_of(axes);
  loop.value = product(contraction, axes, DType::F32);
  loop.out = {places(contraction.result, 2, axes, contraction.begin[2])};
  loop.tiled = true;
  if (starts) {
    loop.start = static_cast<int>(loop.value.in.size());
    Operand first = start.value.in[start.value.value.index];
    first.access = places(start, 2, axes);
    loop.value.in.push_back(first);
  }
  if (!tiling(to.program, coalesced(loop))) return {};
  return loop;
}

// Sums that run along the result's innermost dimension have no loop that depends on itself, so that a compiler makes
// vectors of them. They are kept in the result itself, which must then have the type of the sum.
bool contract(Lowering& to, Contraction contraction) {
  constexpr std::int64_t kWorthARow = 4;
  const bool starts = !contraction.start.value.in.empty();
  if (auto tiles = in_tiles(to, contraction)) {
    to.add(std::move(*tiles));
    return starts;
  }
  const DType dtype = contraction.result.dtype(), accumulator = expr::computed_in(dtype);
  const bool by_rows = accumulator == dtype && size_of(contraction.inner) >= kWorthARow;
  Loop loop;
  loop.fn = op::ReduceFn::Sum;
  loop.accumulator = accumulator;
  Axes axes;
  if (by_rows || contraction.scatters) {
    const View zeros = number_view(0.0, dtype, contraction.result.shape);
    to.store(starts ? contraction.start : zeros, whole(contraction.result));
    axes = joined(contraction.outer, contraction.reduced, contraction.inner);
    loop.mode = Mode::Update;
    loop.kept = static_cast<int>(axes.size());
  } else {
    axes = joined(contraction.outer, contraction.inner, contraction.reduced);
    loop.mode = Mode::Fold;
    loop.kept = static_cast<int>(axes.size() - contraction.reduced.size());
  }
  loop.sizes = sizes_of(axes);
  loop.value = product(contraction, axes, accumulator);
  loop.out = {places(contraction.result, 2, axes, contraction.begin[2])};
  if (contraction.guarded >= 0) {
    const View* const views[] = {&contraction.a, &contraction.b, &contraction.result};
    loop.guards =
        guards(views[contraction.guarded]->shape, contraction.guarded, axes, contraction.begin[contraction.guarded]);
  }
  to.add(std::move(loop));
  return starts && by_rows;
}

}  // namespace kiln::compile
