// Products of matrices by tiles in shared memory, for all kernels that come down to them. A block makes rows x columns
// sums of left[row][depth] * right[depth][column]; a thread holds its share of them in registers, while the block takes
// tiles of both factors through shared memory, the next one on its way as this one is multiplied.
#pragma once
#include <functional>
#include <optional>

#include "kiln/backend/gpu/kernel/builder.hpp"

namespace kiln::gpu::family {

/// The sums of a block, how deep the tiles of the factors are, and the sums of a thread. Powers of two.
struct Tile {
  int rows, columns, depth, own_rows, own_columns;
  /// Warps multiply fragments of halves (Builder::multiply_fragments): a multiple of 16 deep, and of a thread's sums an even
  /// number in either direction.
  bool fragments = false;
  int threads() const { return (rows / own_rows) * (columns / own_columns); }
  /// Threads that share the sums of a row: neighbours.
  int row_threads() const { return fragments ? 4 : columns / own_columns; }
  /// Sums side by side that a thread holds, in either direction.
  int row_group() const { return own_rows < 4 ? own_rows : 4; }
  int column_group() const { return fragments ? 2 : own_columns < 4 ? own_columns : 4; }
};

/// How threads load a factor: side by side along its depth, or along its lines (the rows of a left factor, the columns of
/// a right one); and how many elements, which lie side by side in memory too, each of them at once.
struct Loading {
  bool along_depth = false;
  int width = 1;
};

/// A factor in memory.
struct Factor {
  using Known = std::vector<Expr>;
  struct Place {
    Expr index, inside;  // where it lies, and whether there is one; others are 0
  };
  Buffer buffer;
  Loading loading;
  std::function<Known(const Expr& line)> of_line;    // what to know of a line of the tile (int32), found out once
  std::function<Known(const Expr& depth)> of_depth;  // and of a depth
  std::function<Place(const Known& line, const Known& depth)> place;
  bool finite_alone = false;  // what is not finite counts as 0
};

/// Of a matrix in memory from `start` on: its lines from `first` on, of which there are `lines`.
Factor factor_of(const Buffer& buffer, const Loading& loading, const Expr& start, const Expr& first, const Expr& lines,
                 const Expr& line_stride, const Expr& depth_stride);

/// A left factor that the block has in shared memory: element [depth * stride + row]; of fragments [row * stride + depth].
struct Resident {
  Resident(Builder& k, const Tile& tile, DType dtype, int depth);
  Expr place(const Expr& row, const Expr& depth) const;
  Shared memory;
  int stride;
  bool fragments;
};

class TileProduct {
 public:
  /// Factors of `dtype`, each element of which is held as what it is computed in.
  TileProduct(Builder& k, const Tile& tile, DType dtype);
  /// Another product of the same tile, with sums of its own, whose right factors are loaded the same way.
  TileProduct beside(const Loading& right);
  void clear();
  /// Adds the products of depths [begin, end). All threads of the block get here; it begins where they may still read what
  /// they multiplied before, and ends where none does.
  void add(const Factor& left, const Factor& right, const Expr& begin, const Expr& end);
  void add(const Resident& left, const Factor& right, const Expr& begin, const Expr& end);

  /// Calls f(row, column, i), once written out, for the sums of the thread in groups of tile.column_group() side by side:
  /// `i` is the place in `sums` of the first.
  void each(FunctionRef<void(const Expr& row, const Expr& column, int i)> f) const;
  /// The sums of a group.
  std::vector<Expr> group(int i) const;
  /// Own row i, counted in a thread's own, and own column, as those of the tile.
  Expr row(int i) const;
  Expr column(int i) const;

  const Tile tile;
  const Local sums;  // own_rows x own_columns

 private:
  /// A factor on its way: registers of each thread, and twice the room of a tile in shared memory.
  TileProduct(const TileProduct& other, Local others);
  struct Side {
    Side(Builder& k, const Tile& tile, int lines, DType dtype, bool along_depth);
    void begin(const Factor& from);
    void load(const Expr& from, const Expr& end);
    void store(const Expr& turn) const;

    Builder* k;
    int lines, depth;
    int line_stride, depth_stride;  // in shared memory
    int size, count, width;         // elements of a tile there, and of a thread
    Shared memory;
    Local held;
    const Factor* factor = nullptr;
    Expr first_line, first_depth;  // of the thread
    int next_line = 0, next_depth = 0;
    std::vector<Factor::Known> known;
  };
  Side& side(std::optional<Side>& side, int lines, const Factor& first);
  void run(Side* left, const Resident* resident, Side& right, const Expr& begin, const Expr& end);
  /// From where the tiles of both factors begin in shared memory.
  void multiply(const Shared& left, const Expr& left_at, int left_stride, const Expr& right_at);
  void multiply_fragments(const Shared& left, const Expr& left_at, int left_stride, const Expr& right_at);

  Builder* k_;
  const DType dtype_, type_;
  const Expr own_row_, own_column_;
  std::optional<Side> left_, right_;
};

}  // namespace kiln::gpu::family
