// What both kernels of recurrent layers have. All moments are one kernel: a block has some units of the state for some rows
// of the batch, and the weights of their gates lie in its shared memory throughout; between two moments the blocks of the
// same rows meet (Diamos et al., "Persistent RNNs: Stashing Recurrent Weights On-Chip", 2016).
#pragma once
#include <optional>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/sequence/recurrent_ops.hpp"

namespace kiln::gpu::family {

using Exprs = std::vector<Expr>;

/// Cells lie apart, so that blocks of other rows do not wait for the same line of memory.
inline constexpr int kCellsApart = 32;

/// How the work is shared. A thread of the product has 4 rows and some columns; one of the moment has one unit of a row.
struct RecurrentShape {
  static constexpr int kThreads = 256, kWarps = kThreads / kLanes, kOwnRows = 4;
  RecurrentCell cell;
  DType dtype;
  DType lengths = DType::I64;  // what they are counted in
  bool has_lengths = false, has_clip = false;
  int hidden = 0, rows = 0, units = 0;

  int gates() const { return static_cast<int>(gates_of(cell.kind)); }
  int columns() const { return gates() * units; }
  /// Blocks for the same rows.
  int groups() const { return (hidden + units - 1) / units; }
  /// Threads of a warp side by side along the columns of a product.
  int column_lanes() const { return kLanes / (rows / kOwnRows); }
  /// From depth to depth where rows lie side by side: other banks, whole vectors.
  int row_stride() const { return rows + 4; }
  /// The state, filled up to a multiple of what the warps take.
  int depth() const { return (hidden + kWarps - 1) / kWarps * kWarps; }
  /// Elements of a row of the state, or of a weight, that can be loaded at once.
  int width() const;
  /// Bytes of shared memory, of the layer and of its gradient.
  std::int64_t forward_bytes() const;
  std::int64_t backward_bytes() const;
  /// The columns of the gradient's product, filled up to a multiple of what all threads take.
  int wide() const {
    const int step = column_lanes() * kWarps;
    return (hidden + step - 1) / step * step;
  }
};

/// As the device takes the least time for; none where it cannot.
std::optional<RecurrentShape> shape_of(const Gpu& gpu, const RecurrentCell& cell, DType dtype, std::int64_t batch,
                                       std::int64_t hidden, const Value& lengths, const Value& clip);

/// Launches a kernel for all tiles of rows, as many at a time as may meet. `arguments` end with the cells and the number of
/// the first tile, which are put there.
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

/// What a thread knows of where it is.
struct RecurrentPlace {
  RecurrentPlace(Builder& k, const RecurrentShape& shape, const Expr& batch, const Expr& first_tile);
  Expr group, tile;                 // of the block; int32
  Expr row_in_tile, unit_in_group;  // of the thread in a moment; int32
  Expr row, unit;                   // of the batch and the state; int64
  Expr valid;                       // is there one?
};

/// The product of a block's rows with columns of which each thread has some.
class RecurrentProduct {
 public:
  /// Of `columns` columns, which are shared by as many lanes side by side, of which this thread is number `lane`.
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

/// Elements [columns, depth] on their way to shared memory, in groups of `width` along the depth. Neighbours in columns are
/// neighbours in threads, and each has several loads in flight.
struct Shipment {
  DType dtype;
  int columns, depth, width;
  using Place = FunctionRef<Expr(const Expr& column, const Expr& depth)>;
  /// What is not `there` is 0.
  void run(Builder& k, Place there, FunctionRef<Exprs(const Expr& column, const Expr& depth)> load,
           FunctionRef<void(const Expr& column, const Expr& depth, const Exprs& values)> store) const;
};

Expr activate(Builder& k, GateActivation activation, DType dtype, const Expr& x);
/// Its slope, by its value.
Expr slope(Builder& k, GateActivation activation, const Expr& y);
/// Within [-clip, clip], where there is one.
Expr bounded(const Expr& x, const Expr& clip);
/// The gradient of x where bounded(x) is x.
Expr within(const Expr& x, const Expr& clip, const Expr& grad);

}  // namespace kiln::gpu::family
