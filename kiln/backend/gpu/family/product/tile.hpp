// Tiled products of matrices in shared memory, for all kernels that reduce to them. A block computes rows x columns
// sums of left[row][depth] * right[depth][column]; each thread holds some of them in registers, while the block moves
// tiles of both factors through shared memory, and loads the next one while it multiplies this one.
#pragma once
#include <functional>
#include <optional>

#include "kiln/backend/gpu/kernel/builder.hpp"

namespace kiln::gpu::family {

/// The sums of a block, the depth of the factors' tiles, and the sums of a thread. All are powers of two.
struct Tile {
  int rows, columns, depth, own_rows, own_columns;
  /// Warps multiply fragments of halves (Builder::multiply_fragments): the depth is a multiple of 16, and a thread has
  /// an even number of sums in either direction.
  bool fragments = false;
  /// The rows of the matrices of 16 columns, and 16 deep, that warps hold where the device's own layout is not known
  /// (Builder::matrix); 0: fragments are those of Builder::multiply_fragments. Threads have the same sums of both.
  int matrix_rows = 0;
  /// How many tiles of each factor lie in shared memory: threads store one while they multiply another, or, with 1, wait
  /// for each other between the two.
  int stages = 2;
  /// How many steps before a tile is multiplied its loads begin: 1, or, with two stages, 2. Threads hold so many tiles in
  /// registers.
  int ahead = 1;
  /// The threads of a warp have the sums of 4 x 8 groups rather than of a few long rows, and neighbours share a row or a
  /// column, so that shared memory gives one element to several of them at once. Not with fragments.
  bool blocked = false;
  bool operator==(const Tile&) const = default;
  int threads() const { return (rows / own_rows) * (columns / own_columns); }
  /// How many neighbouring threads share the sums of a row; those of a blocked tile are no neighbours.
  int row_threads() const { return fragments ? 4 : columns / own_columns; }
  /// How many adjacent sums a thread holds, in either direction.
  int row_group() const { return own_rows < 4 ? own_rows : 4; }
  /// The bytes of shared memory in which tiles of both factors lie.
  std::int64_t shared_bytes(DType dtype) const;
  int column_group() const { return fragments ? 2 : own_columns < 4 ? own_columns : 4; }
  /// The depth of one round of the loop that multiplies.
  int step() const { return depth * ahead; }
};

/// How threads load a factor: along its depth, or along its lines (the rows of a left factor, the columns of a right
/// one); and how many contiguous elements at once.
struct Loading {
  bool along_depth = false;
  int width = 1;
};

/// Can the threads of a tile share the loads of `lines` lines of a factor? Otherwise no kernel can be built.
bool loads_evenly(const Tile& tile, int lines, const Loading& loading);

/// A factor in memory. A buffer of uint32 holds two halves in each element, of factors that are loaded several elements
/// at once; places are those of elements all the same.
struct Factor {
  using Precomputed = std::vector<Expr>;
  struct Position {
    Expr index, inside;  // its offset, and whether it exists; elements that do not are 0
  };
  Buffer buffer;
  Loading loading;
  std::function<Precomputed(const Expr& line)> of_line;    // what a line of the tile (int32) needs, computed once
  std::function<Precomputed(const Expr& depth)> of_depth;  // what a depth needs, computed once
  std::function<Position(const Precomputed& line, const Precomputed& depth)> place;
  bool finite_alone = false;  // elements that are not finite count as 0
  bool whole = false;         // all lines and depths of its tiles exist, and depths come in whole steps (Tile::step)
};

/// The elements of a factor's buffer: words of two halves where warps hold matrices and several are loaded at once, so
/// that none is converted on its way.
inline DType factor_dtype(const Tile& tile, DType dtype, const Loading& loading) {
  return tile.matrix_rows && loading.width > 1 ? DType::U32 : dtype;
}

/// A factor that is a matrix in memory from `start` on: `lines` of its lines from `first` on.
Factor factor_of(const Buffer& buffer, const Loading& loading, const Expr& start, const Expr& first, const Expr& lines,
                 const Expr& line_stride, const Expr& depth_stride);

/// Matrices that warps hold have so many columns, and are so deep.
inline constexpr int kMatrixSide = 16;
/// The first row and column of the sums of this thread's warp.
Expr warp_row(Builder& k, const Tile& tile);
Expr warp_column(Builder& k, const Tile& tile);

/// A left factor in shared memory: element [depth * stride + row]; for fragments and matrices [row * stride + depth].
struct Resident {
  Resident(Builder& k, const Tile& tile, DType dtype, int depth);
  static std::int64_t elements(const Tile& tile, int depth);
  Expr place(const Expr& row, const Expr& depth) const;
  Shared memory;
  int stride;
  bool fragments;
};

/// A factor in shared memory, of which the elements from turn * size on are multiplied: how matrices take it. `each`:
/// the elements in one of the array.
struct HeldFactor {
  const Shared& memory;
  Expr turn;
  int size, each, line_stride, depth_stride;
};
/// Loads the matrix whose first element is at `line` and `depth`, both multiples of 8.
void load_matrix(const Matrix& to, const HeldFactor& from, const Expr& line, int depth, bool lines_are_rows);

/// A factor that is being loaded: registers of each thread, and Tile::stages tiles of shared memory.
struct TileSide {
  /// `each`: the elements in one of the factor's buffer. Its tiles lie in memory of its own, or in `in`.
  TileSide(Builder& k, const Tile& tile, int lines, DType dtype, int each, bool along_depth,
           std::optional<Shared> in = {});
  /// The elements of a tile in shared memory.
  static int elements(const Tile& tile, int lines, bool along_depth);
  void begin(const Factor& from);
  /// These move a tile to and from the registers of number `set`, one of Tile::ahead.
  void load(const Expr& from, const Expr& end, int set);
  void store(const Expr& turn, int set) const;
  HeldFactor held_at(const Expr& turn) const { return {memory, turn, size, each, line_stride, depth_stride}; }

  Builder* k;
  int lines, depth;
  int each;                       // elements in one of an array: 2 in arrays of words
  int line_stride, depth_stride;  // in shared memory, of elements
  int size, count, width;         // elements of a tile there, and of a thread; and per load
  Shared memory;
  Local held;
  std::optional<Factor> factor;
  Expr first_line, first_depth;  // first line and depth that the thread copies
  int next_line = 0, next_depth = 0;
  std::vector<Factor::Precomputed> known;
};

class TileProduct {
 public:
  /// Factors are of `dtype`; each element is held in the type in which it is computed.
  TileProduct(Builder& k, const Tile& tile, DType dtype);
  /// A second product of the same tile, with its own sums, whose right factors are loaded in the same way.
  TileProduct beside(const Loading& right);
  void clear();
  /// Adds the products of depths [begin, end). All threads of the block must get here; it may begin while others still
  /// read what they multiplied before, and ends when none does.
  void add(const Factor& left, const Factor& right, const Expr& begin, const Expr& end);
  void add(const Resident& left, const Factor& right, const Expr& begin, const Expr& end);

  using Take = FunctionRef<void(const Expr& row, const Expr& column, std::span<const Expr> sums)>;
  /// Computes nothing but the product of depths [begin, end), once, and calls take(row, column, sums), unrolled, for
  /// adjacent sums of a row, 1 to 8 of them, which need not be those of `sums` and each(). All threads of the block must
  /// get here.
  void make(const Factor& left, const Factor& right, const Expr& begin, const Expr& end, Take take);

  /// Calls f(row, column, i), unrolled, for the thread's sums in groups of tile.column_group() adjacent ones: `i` is
  /// the index in `sums` of the first.
  void each(FunctionRef<void(const Expr& row, const Expr& column, int i)> f) const;
  /// The sums of the group that begins at `i`.
  std::vector<Expr> group(int i) const;
  /// The row and column in the tile of a thread's own row i and own column.
  Expr row(int i) const;
  Expr column(int i) const;

  const Tile tile;
  const Local sums;  // own_rows x own_columns

 private:
  using Side = TileSide;
  TileProduct(const TileProduct& other, Local others);
  Side& side(std::optional<Side>& side, int lines, const Factor& first);
  /// The depths that are multiplied, in steps of a tile.
  struct Depths {
    Expr begin, end, steps;
  };
  Depths depths(const Expr& begin, const Expr& end) const;
  void multiply_factors(const Factor& left, const Factor& right, const Expr& begin, const Expr& end);
  void run(Side* left, const Resident* resident, Side& right, const Depths& depths);
  void run_ahead(Side& left, Side& right, const Depths& depths);
  void load(Side* left, Side& right, const Depths& depths, const Expr& step, int set);
  void where(const Side& right, const Depths& depths, const Expr& step, FunctionRef<void()> f);
  void store(Side* left, Side& right, const Expr& turn, int set);
  void multiply_step(const Side* left, const Resident* resident, const Side& right, const Expr& step, const Expr& turn);
  /// A factor in shared memory from turn * size on, whose depths are `stride` apart.
  struct Turned {
    const Shared& memory;
    Expr turn;
    int size, stride;
  };
  void multiply(const Turned& left, const Expr& turn);
  /// The expressions say where the tiles of both factors begin in shared memory.
  void multiply_fragments(const Shared& left, const Expr& left_at, int left_stride, const Expr& right_at);
  void multiply_matrices(const HeldFactor& left, const HeldFactor& right);
  void begin_matrices();
  void each_matrix(FunctionRef<void(int i, int j, const Expr& first)> take) const;
  void end_matrices();
  void take_matrices(Take take) const;

  Builder* k_;
  const DType dtype_, type_;
  const Expr own_row_, own_column_;
  std::optional<Side> left_, right_;
  std::optional<Shared> exchanged_;  // a matrix of each warp
  std::vector<Matrix> matrices_;     // of sums, row by row
  std::vector<Matrix> rows_, columns_;
};

}  // namespace kiln::gpu::family
