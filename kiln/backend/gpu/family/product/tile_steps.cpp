// The loop over the depth of a tiled product: when tiles are loaded, stored and multiplied, and who waits for whom.
#include "kiln/backend/gpu/family/product/tile.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu::family {

TileProduct::Side& TileProduct::side(std::optional<Side>& side, int lines, const Factor& first) {
  if (!side) side.emplace(*k_, tile, lines, dtype_, first.buffer.dtype() == dtype_ ? 1 : 2, first.loading.along_depth);
  return *side;
}

void TileProduct::multiply_factors(const Factor& left, const Factor& right, const Expr& begin, const Expr& end) {
  require<ArgumentError>(left.whole == right.whole, "kernel: one factor alone has whole tiles");
  Side& from = side(left_, tile.rows, left);
  from.begin(left);
  side(right_, tile.columns, right).begin(right);
  run(&from, nullptr, *right_, depths(begin, end));
}

void TileProduct::add(const Factor& left, const Factor& right, const Expr& begin, const Expr& end) {
  multiply_factors(left, right, begin, end);
  if (tile.matrix_rows) end_matrices();
}

void TileProduct::add(const Resident& left, const Factor& right, const Expr& begin, const Expr& end) {
  side(right_, tile.columns, right).begin(right);
  run(nullptr, &left, *right_, depths(begin, end));
  if (tile.matrix_rows) end_matrices();
}

void TileProduct::make(const Factor& left, const Factor& right, const Expr& begin, const Expr& end, Take take) {
  if (!tile.matrix_rows) clear();
  multiply_factors(left, right, begin, end);
  if (tile.matrix_rows) return take_matrices(take);
  each([&](const Expr& row, const Expr& column, int i) { take(row, column, group(i)); });
}

TileProduct::Depths TileProduct::depths(const Expr& begin, const Expr& end) const {
  return {begin, end, ((end - begin + (tile.depth - 1)) / tile.depth).as(DType::I32)};
}

/// Loads the tiles of step number `step`: zeros behind the last one, or, of whole tiles, the last ones again.
void TileProduct::load(Side* left, Side& right, const Depths& depths, const Expr& step, int set) {
  Expr at = depths.begin + (step * tile.depth).as(depths.begin.type());
  if (right.factor->whole) at = min(at, depths.end - tile.depth);
  if (left) left->load(at, depths.end, set);
  right.load(at, depths.end, set);
}

/// Runs f if there is such a step. Whole tiles do without the condition: rounds are whole, and what is loaded too much is
/// not multiplied.
void TileProduct::where(const Side& right, const Depths& depths, const Expr& step, FunctionRef<void()> f) {
  if (right.factor->whole) return f();
  k_->when(step < depths.steps, f);
}

void TileProduct::store(Side* left, Side& right, const Expr& turn, int set) {
  if (left) left->store(turn, set);
  right.store(turn, set);
}

void TileProduct::run(Side* left, const Resident* resident, Side& right, const Depths& depths) {
  const Expr zero = k_->literal(DType::I32, 0), one = k_->literal(DType::I32, 1);
  for (const Matrix& each : matrices_) each.clear();
  if (tile.ahead == 2) {
    require<ArgumentError>(left && tile.stages == 2, "kernel: loads two steps ahead need two tiles of both factors");
    run_ahead(*left, right, depths);
  } else if (tile.stages == 1) {
    load(left, right, depths, zero, 0);
    k_->loop(zero, depths.steps, one, [&](const Expr& step) {
      store(left, right, zero, 0);
      k_->barrier();
      where(right, depths, step + 1, [&] { load(left, right, depths, step + 1, 0); });
      multiply_step(left, resident, right, step, zero);
      k_->barrier();
    });
  } else {
    load(left, right, depths, zero, 0);
    store(left, right, zero, 0);
    k_->barrier();
    k_->loop(zero, depths.steps, one, [&](const Expr& step) {
      const Expr turn = step & 1;
      where(right, depths, step + 1, [&] { load(left, right, depths, step + 1, 0); });
      multiply_step(left, resident, right, step, turn);
      where(right, depths, step + 1, [&] { store(left, right, turn ^ 1, 0); });
      k_->barrier();
    });
  }
}

/// Two steps a round, so that each knows which registers are its own.
void TileProduct::run_ahead(Side& left, Side& right, const Depths& depths) {
  const Expr turns[] = {k_->literal(DType::I32, 0), k_->literal(DType::I32, 1)};
  for (int set = 0; set < 2; ++set) load(&left, right, depths, turns[set], set);
  store(&left, right, turns[0], 0);
  k_->barrier();
  k_->loop(turns[0], depths.steps, k_->literal(DType::I32, 2), [&](const Expr& first) {
    for (int turn = 0; turn < 2; ++turn) {
      const Expr step = first + turn;
      where(right, depths, step + 2, [&] { load(&left, right, depths, step + 2, turn); });
      where(right, depths, step, [&] { multiply_step(&left, nullptr, right, step, turns[turn]); });
      where(right, depths, step + 1, [&] { store(&left, right, turns[1 - turn], 1 - turn); });
      k_->barrier();
    }
  });
}

/// `turn`: which of the tiles in shared memory; a resident factor has the tiles of all steps.
void TileProduct::multiply_step(const Side* left, const Resident* resident, const Side& right, const Expr& step,
                                const Expr& turn) {
  if (tile.matrix_rows) {
    const HeldFactor rows =
        left ? left->held_at(turn) : HeldFactor{resident->memory, step, tile.depth, 1, resident->stride, 1};
    multiply_matrices(rows, right.held_at(turn));
  } else if (tile.fragments) {
    const Expr right_at = turn * right.size;
    if (left) multiply_fragments(left->memory, turn * left->size, left->line_stride, right_at);
    else multiply_fragments(resident->memory, step * tile.depth, resident->stride, right_at);
  } else {
    if (left) multiply({left->memory, turn, left->size, left->depth_stride}, turn);
    else multiply({resident->memory, step, tile.depth * resident->stride, resident->stride}, turn);
  }
}

}  // namespace kiln::gpu::family
