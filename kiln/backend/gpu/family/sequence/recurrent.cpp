#include "kiln/backend/gpu/family/sequence/recurrent.hpp"

#include <algorithm>
#include <bit>

#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/expression/rows.hpp"

namespace kiln::gpu::family {
namespace {

constexpr std::int64_t kReserved = 1 << 10;  // shared memory that the device reserves
constexpr int kMostLaunches = 4;             // with more, one product per time step is as fast

/// The estimated cycles of a time step: the multiplications, and the exchange of the state between blocks.
double cycles(const RecurrentShape& shape) {
  return static_cast<double>(shape.rows) * shape.columns() * shape.depth() / 100 + 3000;
}

}  // namespace

int RecurrentShape::width() const {
  const int most = static_cast<int>(16 / size_of(dtype));
  return std::min(most, hidden & -hidden);
}

std::int64_t RecurrentShape::forward_bytes() const {
  const std::int64_t weights = std::int64_t{depth()} * columns(), states = std::int64_t{depth()} * row_stride(),
                     parts = std::int64_t{kWarps} * rows * (columns() + 16);
  return (weights + states + parts) * static_cast<std::int64_t>(size_of(dtype));
}

std::int64_t RecurrentShape::backward_bytes() const {
  return columns() * (std::int64_t{wide()} + row_stride()) * static_cast<std::int64_t>(size_of(dtype));
}

std::optional<RecurrentShape> shape_of(const Gpu& gpu, const RecurrentCell& cell, DType dtype, std::int64_t batch,
                                       std::int64_t hidden, const Value& lengths, const Value& clip) {
  const Capabilities& device = gpu.driver().capabilities();
  if (!is_float(dtype) || size_of(dtype) < 4 || hidden > 4096) return std::nullopt;
  RecurrentShape shape{.cell = cell,
                       .dtype = dtype,
                       .lengths = lengths ? lengths.dtype() : DType::I64,
                       .has_lengths = !lengths.empty(),
                       .has_clip = !clip.empty(),
                       .hidden = static_cast<int>(hidden)};
  std::optional<RecurrentShape> best;
  double least = 0;
  for (shape.rows = 4; shape.rows <= 32; shape.rows *= 2)
    for (shape.units = 4; shape.units * shape.rows <= RecurrentShape::kThreads; shape.units *= 2) {
      if (shape.columns() % shape.column_lanes() != 0) continue;
      if (std::max(shape.forward_bytes(), shape.backward_bytes()) > device.shared_memory - kReserved) continue;
      const std::int64_t tiles = (batch + shape.rows - 1) / shape.rows, at_once = device.together / shape.groups();
      if (at_once == 0) continue;
      const std::int64_t launches = (tiles + at_once - 1) / at_once;
      const double cost = static_cast<double>(launches) * cycles(shape);
      if (launches > kMostLaunches || (best && cost >= least)) continue;
      best = shape;
      least = cost;
    }
  return best;
}

RecurrentPlace::RecurrentPlace(Builder& k, const RecurrentShape& shape, const Expr& batch, const Expr& first_tile)
    : group(k.block() % shape.groups()),
      tile(first_tile + k.block() / shape.groups()),
      row_in_tile(k.thread() / shape.units),
      unit_in_group(k.thread() % shape.units),
      row((tile * shape.rows + row_in_tile).as(DType::I64)),
      unit((group * shape.units + unit_in_group).as(DType::I64)),
      valid((row_in_tile < shape.rows) & (row < batch) & (unit < shape.hidden)) {}

// ---- the product ---------------------------------------------------------------------------------------------------

RecurrentProduct::RecurrentProduct(Builder& k, const RecurrentShape& shape, int columns, int lanes, const Expr& lane)
    : k_(k),
      shape_(shape),
      columns_(columns),
      own_(columns / lanes),
      group_(std::min({4, own_ & -own_, static_cast<int>(16 / size_of(shape.dtype))})),
      lanes_(lanes),
      sums_(k.local(shape.dtype, std::int64_t{RecurrentShape::kOwnRows} * own_)),
      first_row_(k.lane() / shape.column_lanes() * RecurrentShape::kOwnRows),
      first_column_(lane * group_) {}

void RecurrentProduct::run(const Shared& rows, const Shared& columns, const Expr& begin, int count) const {
  constexpr int kOwnRows = RecurrentShape::kOwnRows;
  const int vector = std::min(kOwnRows, static_cast<int>(16 / size_of(shape_.dtype)));
  const Expr zero = k_.literal(shape_.dtype, 0);
  for (int i = 0; i < kOwnRows * own_; ++i) sums_.set(i, zero);
  const int together = std::min(8, count & -count);
  k_.loop(begin, begin + count, k_.literal(DType::I32, together), [&](const Expr& first) {
    for (int d = 0; d < together; ++d) {
      const Expr depth = first + d;
      Exprs left, right;
      for (int i = 0; i < kOwnRows; i += vector)
        for (const Expr& each : rows.load(depth * shape_.row_stride() + first_row_ + i, vector)) left.push_back(each);
      for (int j = 0; j < own_; j += group_)
        for (const Expr& each : columns.load(depth * columns_ + first_column_ + j * lanes_, group_))
          right.push_back(each);
      for (int i = 0; i < kOwnRows; ++i)
        for (int j = 0; j < own_; ++j) {
          const int at = i * own_ + j;
          sums_.set(at, sums_[at] + left[static_cast<std::size_t>(i)] * right[static_cast<std::size_t>(j)]);
        }
    }
  });
}

void RecurrentProduct::each(FunctionRef<void(const Expr& row, const Expr& column, const Exprs& sums)> f) const {
  for (int i = 0; i < RecurrentShape::kOwnRows; ++i)
    for (int j = 0; j < own_; j += group_) {
      Exprs sums;
      for (int g = 0; g < group_; ++g) sums.push_back(sums_[i * own_ + j + g]);
      f(first_row_ + i, first_column_ + j * lanes_, sums);
    }
}

void SharedCopy::run(Builder& k, Place there, FunctionRef<Exprs(const Expr&, const Expr&)> load,
                     FunctionRef<void(const Expr&, const Expr&, const Exprs&)> store) const {
  constexpr int kInFlight = 8;
  const int count = columns * (depth / width), rounds = (count + k.threads() - 1) / k.threads();
  const int together = std::min(rounds, kInFlight);
  const Expr zero = k.literal(dtype, 0), end = k.literal(DType::I32, count);
  const Local held = k.local(dtype, std::int64_t{together} * width);
  const auto go = [&](const Expr& first) {
    const auto each = [&](auto f) {
      for (int i = 0; i < together; ++i) {
        const Expr at = first + i * k.threads();
        f(i * width, at < end, at % columns, at / columns * width);
      }
    };
    each([&](int place, const Expr& inside, const Expr& column, const Expr& at) {
      for (int i = 0; i < width; ++i) held.set(place + i, zero);
      k.when(inside & there(column, at), [&] {
        const Exprs values = load(column, at);
        for (int i = 0; i < width; ++i) held.set(place + i, values[static_cast<std::size_t>(i)]);
      });
    });
    each([&](int place, const Expr& inside, const Expr& column, const Expr& at) {
      k.when(inside, [&] {
        Exprs values;
        for (int i = 0; i < width; ++i) values.push_back(held[place + i]);
        store(column, at, values);
      });
    });
  };
  if (rounds == together) go(k.thread());
  else k.loop(k.thread(), end, k.literal(DType::I32, together * k.threads()), go);
}

// ---- functions of sums ---------------------------------------------------------------------------------------------

Expr activate(Builder& k, GateActivation activation, DType dtype, const Expr& x) {
  const auto of = [&](op::UnaryFn fn) { return k.tree(expr::tree(fn), dtype, std::vector{x}); };
  switch (activation) {
    case GateActivation::Sigmoid: return of(op::UnaryFn::Sigmoid);
    case GateActivation::Tanh: return of(op::UnaryFn::Tanh);
    case GateActivation::Relu: return of(op::UnaryFn::Relu);
    case GateActivation::HardSigmoid: return of(op::UnaryFn::HardSigmoid);
    case GateActivation::Softsign: return of(op::UnaryFn::Softsign);
    case GateActivation::Identity: return x;
  }
  return x;
}

Expr slope(Builder& k, GateActivation activation, const Expr& y) {
  const auto number = [&](double value) { return k.literal(y.type(), value); };
  switch (activation) {
    case GateActivation::Sigmoid: return y * (1.0 - y);
    case GateActivation::Tanh: return 1.0 - y * y;
    case GateActivation::Relu: return select(y > 0.0, number(1), number(0));
    case GateActivation::HardSigmoid: return select((y > 0.0) & (y < 1.0), number(1.0 / 6), number(0));
    case GateActivation::Softsign: {
      const Expr rest = 1.0 - select(y < 0.0, -y, y);
      return rest * rest;
    }
    case GateActivation::Identity: return number(1);
  }
  return number(1);
}

Expr bounded(const Expr& x, const Expr& clip) { return clip ? select(clip < x, clip, select(x < -clip, -clip, x)) : x; }

Expr within(const Expr& x, const Expr& clip, const Expr& grad) {
  return clip ? select((x < clip) & (-clip < x), grad, literal_like(grad, 0.0)) : grad;
}

}  // namespace kiln::gpu::family
