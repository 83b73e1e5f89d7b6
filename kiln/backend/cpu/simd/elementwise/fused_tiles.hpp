// Programs tile by tile: what lies between inputs and outputs stays in L1.
#pragma once
#include <array>
#include <optional>

#include "kiln/backend/cpu/simd/elementwise/fused.hpp"

namespace kiln::cpu::simd {

/// A run of a tile; `step` 0 is a constant, of which `data` holds a vector.
struct Tile {
  const void* data;
  std::size_t step;
};

/// A program in element types that there are vector functions of.
class TileProgram {
 public:
  explicit TileProgram(const op::Program& program);
  bool runs() const { return runs_; }
  void run(const FusedCall& call, std::int64_t grain) const;

  /// One step, ready to run: `call` knows which type `function` has.
  struct Instruction {
    using Call = void (*)(const Instruction&, const Tile* in, void* out, std::int64_t n);
    Call call = nullptr;
    void (*function)() = nullptr;
    DType from = DType::F32, to = DType::F32;  // of a cast
    std::array<std::uint16_t, 3> in{};         // tiles: the inputs, then the steps
    int slot = -1;                             // scratch tile for the result; -1: straight into output `output`
    int output = -1;                           // the result of the call that this step is, or -1
    DType stored = DType::F32;                 // of the result; one that is computed in another type is rounded to it
    void (*multiply)() = nullptr;  // of a division: the function to take if the divisor has an exact inverse
  };

 private:
  /// The instructions with products in place of divisions by numbers of the call that have an exact inverse, which `inverses`
  /// then has, by input; empty where there are none.
  std::vector<Instruction> without_divisions(const FusedCall& call, std::vector<std::optional<double>>& inverses) const;

  std::vector<Instruction> instructions_;
  int slots_ = 0;
  bool runs_ = false;
};

}  // namespace kiln::cpu::simd
