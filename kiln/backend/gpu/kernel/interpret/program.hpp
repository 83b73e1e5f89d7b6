// A kernel made ready for the interpreter: steps that know their operands' cells and the function for their types.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kiln/backend/gpu/kernel/kernel.hpp"

namespace kiln::gpu::interpreted {

struct Block;
struct Step;
using Steps = std::vector<Step>;
using Run = void (*)(Block&, const Step&);

/// A value has a cell for each thread, of its type's size, one behind the other; `result` and `operands` are where the
/// first one lies, in bytes.
struct Step {
  Run run = nullptr;
  std::uint32_t result = 0;
  std::vector<std::uint32_t> operands{};
  DType operand_type = DType::I32;     // of operand 0
  std::uint16_t place = 0, width = 1;  // of a buffer or an array; values at once
  std::uint16_t depth = 0;             // of flow: its masks are `depth` and the next
  std::uint64_t bits = 0;              // of a literal
  const void* call = nullptr;          // of a tree or a function
  Steps head{}, body{}, otherwise{};
};

struct Program {
  Kernel kernel;
  std::vector<std::size_t> words{};    // Kernel::words()
  std::vector<std::uint32_t> cells{};  // where the cells of a value begin, by Id
  std::size_t bytes = 0;               // of all cells
  int depth = 1;                       // masks that flow needs
  bool updates = false;                // does it update buffers? Then blocks run one after the other.
  Steps constant{};                    // the same in all blocks
  Steps of_block{};                    // known when a block begins
  Steps body{};
  std::vector<std::shared_ptr<const void>> calls{};  // what steps know of the trees and functions that they call
};

Program prepare(const Kernel& kernel);

// The functions of steps, by what they do: compute.cpp, memory.cpp, shared.cpp, flow.cpp, call.cpp.
Run run_constant(const Instruction& instruction);
Run run_compute(Arithmetic op, DType operand_type);
Run run_select(DType type);
Run run_cast(DType from, DType to);
Run run_bits(DType type);
Run run_convert(DType from, DType to);
Run run_narrow(DType dtype);
Run run_entry();
Run run_choose();
Run run_load(DType dtype);
Run run_store(DType dtype);
Run run_update(DType dtype, Update update);
Run run_shared(DType dtype);
Run run_store_shared(DType dtype);
Run run_update_shared(DType dtype, Update update);
Run run_local(DType type);
Run run_store_local(DType type);
Run run_shuffle(DType type);
Run run_shared_pair();
Run run_fragments(DType dtype);
Run run_call(DType element);
std::shared_ptr<const void> make_call(const Instruction& instruction, std::vector<DType> operands);
Run run_if();
Run run_loop(DType type);
Run run_while();
Run run_barrier();
Run run_arrive();
Run run_await();
Run run_nothing();

}  // namespace kiln::gpu::interpreted
