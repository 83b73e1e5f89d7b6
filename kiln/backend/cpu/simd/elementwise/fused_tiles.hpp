// Programs tile by tile: each step is one call of its row's function, and what lies between the steps stays in L1. A tile
// holds elements as memory would. A single step needs no tiles: where its function takes the elements as they lie, it goes
// through all that a thread has at once.
#pragma once
#include <array>
#include <span>

#include "kiln/backend/cpu/simd/elementwise/fused.hpp"

namespace kiln::cpu::simd {

/// A run of a tile; `step` 0 is a constant, of which `data` holds a vector.
struct Tile {
  const void* data = nullptr;
  std::size_t step = 1;
  bool inverted = false;  // it holds one by a divisor
};

/// A step that is ready to run: `call` knows which type `function` has.
struct TileStep {
  using Call = void (*)(const TileStep&, const Tile* const* operands, void* out, std::int64_t n);
  Call call = nullptr;  // null where the step cannot run
  void (*function)() = nullptr;
  void (*multiply)() = nullptr;              // of a division: the function for an inverted divisor
  std::array<DType, 3> reads{};              // what operands of other types are converted to first
  DType makes = DType::F32;                  // what `call` gives, which is converted to
  DType stored = DType::F32;                 // the type of the step's result
  std::array<std::uint16_t, 3> in{0, 1, 2};  // tiles: the inputs, then the steps
  std::uint8_t arity = 1;
  int slot = -1;   // scratch tile for the result; -1: it goes straight to output `output`
  int output = 0;  // the result of the call that this step is, or -1
};

/// Steps with operands and results of these types. A number has the type of the tensors beside it. Halves are computed in
/// float32; a function of a few instructions may take them as they are, `in_halves`, if numbers beside them are halves too.
TileStep tile_step(const op::Unary& op, std::span<const DType> in, DType out, bool in_halves = false);
TileStep tile_step(const op::Binary& op, std::span<const DType> in, DType out, bool in_halves = false);
TileStep tile_step(const op::Where& op, std::span<const DType> in, DType out);
TileStep tile_step(const op::Cast& op, std::span<const DType> in, DType out);

/// Runs steps, of which `slots` tiles hold results that later steps read.
void run_tiles(std::span<const TileStep> steps, int slots, const FusedCall& call, std::int64_t grain);

/// A program in element types that there are vector functions of.
class TileProgram {
 public:
  explicit TileProgram(const op::Program& program);
  bool runs() const { return runs_; }
  void run(const FusedCall& call, std::int64_t grain) const { run_tiles(steps_, slots_, call, grain); }

 private:
  std::vector<TileStep> steps_;
  int slots_ = 0;
  bool runs_ = false;
};

}  // namespace kiln::cpu::simd
