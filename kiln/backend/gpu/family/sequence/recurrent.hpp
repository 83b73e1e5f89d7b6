// What both kernels of recurrent layers share. All time steps are one kernel: a block computes some units of the state
// for some rows of the batch, and keeps the weights of their gates in its shared memory; between two time steps the
// blocks of the same rows synchronize (Diamos et al., "Persistent RNNs: Stashing Recurrent Weights On-Chip", 2016).
#pragma once
#include <optional>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/sequence/recurrent_ops.hpp"

namespace kiln::gpu::family {

using Exprs = std::vector<Expr>;

/// The distance of cells, so that blocks of different rows do not wait for the same cache line.
inline constexpr int kCellsApart = 32;

/// How the work is distributed. In the product a thread has 4 rows and some columns; in a time step one unit of a row.
struct RecurrentShape {
  static constexpr int kThreads = 256, kWarps = kThreads / kLanes, kOwnRows = 4;
  RecurrentCell cell;
  DType dtype;
  DType lengths = DType::I64;  // the type of lengths
  bool has_lengths = false, has_clip = false;
  int hidden = 0, rows = 0, units = 0;

  int gates() const { return static_cast<int>(gates_of(cell.kind)); }
  int columns() const { return gates() * units; }
  /// The number of blocks for the same rows.
  int groups() const { return (hidden + units - 1) / units; }
  /// Threads of a warp that are adjacent along the columns of a product.
  int column_lanes() const { return kLanes / (rows / kOwnRows); }
  /// The stride of depths where rows are contiguous: it avoids bank conflicts and keeps vectors aligned.
  int row_stride() const { return rows + 4; }
  /// The size of the state, rounded up to a multiple of what the warps take.
  int depth() const { return (hidden + kWarps - 1) / kWarps * kWarps; }
  /// How many elements of a row of the state, or of a weight, can be loaded at once.
  int width() const;
  /// The bytes of shared memory that the layer and its gradient need.
  std::int64_t forward_bytes() const;
  std::int64_t backward_bytes() const;
  /// The columns of the gradient's product, rounded up to a multiple of what all threads take.
  int wide() const {
    const int step = column_lanes() * kWarps;
    return (hidden + step - 1) / step * step;
  }
};

/// The shape with which the device is fastest; none if it cannot run such a kernel.
std::optional<RecurrentShape> shape_of(const Gpu& gpu, const RecurrentCell& cell, DType dtype, std::int64_t batch,
                                       std::int64_t hidden, const Value& lengths, const Value& clip);

/// Launches a kernel for all tiles of rows, as many at a time as may synchronize. It appends the cells and the number
/// of the first tile to `arguments`.
template <KernelSource Source>
void launch_tiles(Gpu& gpu, const Source& source, std::int64_t batch, std::vector<Argument> arguments) {
  const RecurrentShape& shape = source.shape;
  const std::int64_t tiles = (batch + shape.rows - 1) / shape.rows;
  const std::int64_t at_once = gpu.driver().capabilities().together / shape.groups();
  const Value held = gpu.scratch({{tiles * kCellsApart}, DType::I32});
  const Array cells = read(held);
  gpu.driver().clear(cells.data, static_cast<std::size_t>(tiles) * kCellsApart * sizeof(std::int32_t));
  arguments.push_back(cells);
  arguments.emplace_back(0);
  for (std::int64_t first = 0; first < tiles; first += at_once) {
    arguments.back() = first;
    gpu.launch(source, std::min(at_once, tiles - first) * shape.groups(), arguments);
  }
}

/// A thread's position.
struct RecurrentPlace {
  RecurrentPlace(Builder& k, const RecurrentShape& shape, const Expr& batch, const Expr& first_tile);
  Expr group, tile;                 // those of the block; int32
  Expr row_in_tile, unit_in_group;  // those of the thread in a time step; int32
  Expr row, unit;                   // in the batch and the state; int64
  Expr valid;                       // does it exist?
};

/// The product of a block's rows with some columns per thread.
class RecurrentProduct {
 public:
  /// There are `columns` columns, shared by `lanes` adjacent lanes, of which this thread is number `lane`.
  RecurrentProduct(Builder& k, const RecurrentShape& shape, int columns, int lanes, const Expr& lane);
  /// Sums over `count` depths from `begin` on, of rows[depth * row_stride + row] * columns[depth * columns + column].
  void run(const Shared& rows, const Shared& columns, const Expr& begin, int count) const;
  /// Calls f(row, column, sums) for groups of sums side by side.
  void each(FunctionRef<void(const Expr& row, const Expr& column, const Exprs& sums)> f) const;

 private:
  Builder& k_;
  const RecurrentShape& shape_;
  const int columns_, own_, group_, lanes_;
  const Local sums_;
  const Expr first_row_, first_column_;
};

/// Copies elements [columns, depth] to shared memory, in groups of `width` along the depth. Neighbouring threads take
/// neighbouring columns, and each has several loads in flight.
struct SharedCopy {
  DType dtype;
  int columns, depth, width;
  using Place = FunctionRef<Expr(const Expr& column, const Expr& depth)>;
  /// Elements for which `there` is false are 0.
  void run(Builder& k, Place there, FunctionRef<Exprs(const Expr& column, const Expr& depth)> load,
           FunctionRef<void(const Expr& column, const Expr& depth, const Exprs& values)> store) const;
};

Expr activate(Builder& k, GateActivation activation, DType dtype, const Expr& x);
/// The derivative, computed from the function's value y.
Expr slope(Builder& k, GateActivation activation, const Expr& y);
/// Clips to [-clip, clip], if there is a clip.
Expr bounded(const Expr& x, const Expr& clip);
/// The gradient of x: grad where bounded(x) is x, else 0.
Expr within(const Expr& x, const Expr& clip, const Expr& grad);

}  // namespace kiln::gpu::family
