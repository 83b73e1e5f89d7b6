// A kernel prepared for the interpreter: steps with the cells of their operands and the function for their types.
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

/// A value has one cell per thread, of its type's size, in an array; `result` and `operands` are the offsets of these
/// arrays in bytes.
struct Step {
  Run run = nullptr;
  std::uint32_t result = 0;
  std::vector<std::uint32_t> operands{};
  DType operand_type = DType::I32;     // type of operand 0
  std::uint16_t place = 0, width = 1;  // the buffer or array; elements per access
  std::uint16_t from = 0, by = 0;      // of a statement on matrices
  bool transposed = false;
  std::uint16_t depth = 0;     // for control flow: the indices of its masks are `depth` and the next
  std::uint64_t bits = 0;      // a literal's value
  const void* call = nullptr;  // the prepared call of a tree or a function
  Steps head{}, body{}, otherwise{};
};

struct Program {
  Kernel kernel;
  std::vector<std::size_t> words{};    // Kernel::words()
  std::vector<std::uint32_t> cells{};  // offset of a value's cells, by Id
  std::size_t bytes = 0;               // size of all cells
  int depth = 1;                       // masks that control flow needs
  bool updates = false;                // does it update buffers? Then blocks run one after the other.
  Steps constant{};                    // results that are the same in all blocks
  Steps of_block{};                    // results that are known when a block begins
  Steps body{};
  std::vector<std::shared_ptr<const void>> calls{};  // the prepared calls of trees and functions
};

Program prepare(const Kernel& kernel);

// The function of each kind of step, by file: compute.cpp, memory.cpp, shared.cpp, matrix.cpp, flow.cpp, call.cpp.
Run run_constant(const Instruction& instruction);
Run run_compute(Arithmetic op, DType operand_type);
Run run_select(DType type);
Run run_multiply_add(DType type);
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
Run run_shared_same(DType dtype);
Run run_fragments(DType dtype);
Run run_call(DType element);
std::shared_ptr<const void> make_call(const Instruction& instruction, std::vector<DType> operands);
Run run_if();
Run run_loop(DType type);
Run run_while();
Run run_matrix(Statement::Kind kind);
Run run_barrier();
Run run_arrive();
Run run_await();
Run run_nothing();

}  // namespace kiln::gpu::interpreted
