#include "kiln/backend/cpu/integer/product.hpp"

#include <algorithm>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::integer {
namespace {

using std::int64_t;

/// The bytes of panels that a piece reads for each block of its rows, and the sums of a piece: both stay in the
/// second-level cache.
constexpr int64_t kMostPanelBytes = 512 << 10, kMostSums = 1 << 16, kMostRows = 256, kLeastRows = 32;

/// The rows and columns of a piece; the columns are whole panels.
struct PieceRange {
  int64_t rows, columns;
};

/// Depends on the sizes alone. A multiplication of bytes costs a quarter of one of floats.
PieceRange cut(const Product& p) {
  constexpr int64_t kThin = 16, kLeastColumns = 64, kCheap = 4;  // bench: quantised files, onnx/folder.py
  const int64_t depth = p.packer->depth();
  PieceRange piece{std::min(p.m, kMostRows),
                   std::clamp(kMostPanelBytes / depth / kPanel * kPanel, kMinEpilogueRun, int64_t{1024})};
  piece.columns = std::min(round_up(p.n, kPanel), piece.columns);
  piece.rows = std::min(piece.rows, std::max(kLeastRows, kMostSums / piece.columns / kLeastRows * kLeastRows));
  const int64_t wanted = pieces(2 * p.matrices * (p.m + kThin) * p.n * depth / kCheap);
  const auto count = [&] { return p.matrices * divide_up(p.m, piece.rows) * divide_up(p.n, piece.columns); };
  while (count() < wanted && piece.rows > kLeastRows)
    piece.rows = std::max(kLeastRows, round_up(divide_up(piece.rows, 2), kLeastRows));
  while (count() < wanted && piece.columns > kLeastColumns)
    piece.columns = std::max(kLeastColumns, round_up(divide_up(piece.columns, 2), kPanel));
  return piece;
}

void run_piece(const Product& p, const Tiles& tiles, const Epilogue* epilogue, std::int32_t* result, int64_t index,
               int64_t row, int64_t rows, int64_t column, int64_t columns) {
  const int64_t depth = round_up(p.k, tiles.depth), whole_rows = round_up(rows, tiles.rows),
                whole_columns = round_up(columns, kPanel), step = round_up(p.k, kDepth);
  // Rows whose distance is no power of two do not compete for the same cache sets.
  const int64_t sum_row = whole_columns + kPanel;
  const std::uint8_t* left = p.left->in_place(index, row);
  int64_t left_step = p.left->step();
  const bool copies = !left || depth != p.k || whole_rows != rows;
  Scratch scratch;
  auto* const sums = scratch.take<std::int32_t>(whole_rows * sum_row);
  auto* const add = scratch.take<std::int32_t>(columns);
  auto* const row_sums = scratch.take<std::int32_t>(rows);
  auto* const finished = scratch.take<std::int32_t>(epilogue ? rows * columns : 0);
  auto* const copied = scratch.take<std::uint8_t>(copies ? whole_rows * step : 0);
  if (copies) {
    p.left->copy(index, row, rows, copied, step);
    left = copied, left_step = step;
  }
  const std::byte* const matrix =
      p.right + (p.rights.empty() ? index : p.rights[static_cast<std::size_t>(index)]) * p.packer->matrix_size();
  tiles.multiply(left, left_step, rows, PackPanels::panels_of(matrix) + column / kPanel * p.packer->panel_size(),
                 p.packer->panel_size(), whole_columns / kPanel, depth, sums, sum_row);

  Correction correction{};
  if (!p.b_zeros.empty()) {
    const bool of_each = static_cast<int64_t>(p.b_zeros.size()) > p.n;
    correction.factors = p.b_zeros.data() + (of_each ? index * p.n : 0) + column;
    correction.row_sums = row_sums;
    byte_kernels().sum_rows(left, left_step, rows, p.k, row_sums);
  }
  if (p.a_zero != 0 || correction.factors) {
    const std::int32_t* const column_sums = p.packer->sums_of(matrix) + column;
    const auto zero = static_cast<std::uint32_t>(p.a_zero), terms = static_cast<std::uint32_t>(p.k);
    for (int64_t j = 0; j < columns; ++j) {
      const std::uint32_t less = correction.factors ? terms * static_cast<std::uint32_t>(correction.factors[j]) : 0;
      add[j] = static_cast<std::int32_t>(zero * (less - static_cast<std::uint32_t>(column_sums[j])));
    }
    correction.add = add;
  }
  const int64_t first = index * p.matrix_step + row * p.row_step + column;
  if (!epilogue) return byte_kernels().correct(sums, sum_row, rows, columns, correction, result + first, p.row_step);
  // Rows are contiguous, so that the epilogue can process whole rows as one run.
  byte_kernels().correct(sums, sum_row, rows, columns, correction, finished, columns);
  epilogue->finish({first, rows, columns, p.row_step, reinterpret_cast<const std::byte*>(finished), columns});
}

}  // namespace

void multiply(const Product& p, const Tiles& tiles, const Epilogue* epilogue, std::int32_t* result) {
  const PieceRange piece = cut(p);
  const int64_t down = divide_up(p.m, piece.rows), across = divide_up(p.n, piece.columns);
  const int64_t grain =
      std::clamp<int64_t>(kMinOpsPerThread / (piece.rows * piece.columns * p.packer->depth() / 2 + 1), 1, 64);
  parallel_for(p.matrices * down * across, grain, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t row = part % down * piece.rows, column = part / down % across * piece.columns;
      run_piece(p, tiles, epilogue, result, part / (down * across), row, std::min(piece.rows, p.m - row), column,
                std::min(piece.columns, p.n - column));
    }
  });
}

std::int32_t number_of(const Value& zero) {
  if (zero.empty()) return 0;
  const std::byte byte = *read(zero).data;
  return zero.dtype() == DType::I8 ? static_cast<std::int8_t>(byte) : static_cast<std::uint8_t>(byte);
}

std::vector<std::int32_t> zeros_of(const Value& zero, std::int32_t less, int64_t count) {
  std::vector<std::int32_t> zeros;
  if (zero.empty() || zero.numel() == 1) {
    zeros.assign(static_cast<std::size_t>(count), number_of(zero) - less);
  } else {
    Value held;
    const Array array = read_contiguous(zero, held);
    const bool is_signed = zero.dtype() == DType::I8;
    for (int64_t i = 0; i < count; ++i)
      zeros.push_back(
          (is_signed ? std::int32_t{array.as<std::int8_t>()[i]} : std::int32_t{array.as<std::uint8_t>()[i]}) - less);
  }
  if (std::ranges::all_of(zeros, [](std::int32_t x) { return x == 0; })) zeros.clear();
  return zeros;
}

}  // namespace kiln::cpu::integer
