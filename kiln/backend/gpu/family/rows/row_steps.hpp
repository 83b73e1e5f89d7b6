// The computation of op::RowFused, as kernels of rows see it.
#pragma once
#include "kiln/backend/gpu/family/program.hpp"
#include "kiln/backend/gpu/family/rows/row.hpp"
#include "kiln/ops/planned/rows.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::gpu::family {

/// A step as kernels see it. Values are numbered: the inputs of the call, then the results of each step.
struct RowStep {
  enum class Kind : std::uint8_t { Program, Reduce, Softmax, LogSoftmax, Dropout, Same } kind;
  std::vector<std::uint16_t> in{};
  std::uint16_t first = 0;  // the number of its first result
  std::shared_ptr<const op::Program> program{};
  // The reductions at its end; where it is neither program nor reduction, a single one gives its type.
  std::vector<Reduction> reductions{};
};

/// What a sequence computes, independent of its shape.
struct RowSteps {
  static constexpr bool kPlain = true;
  std::vector<RowStep> steps;
  std::vector<DType> inputs;  // element types of tensors
  std::vector<bool> numbers;
  struct Output {
    std::uint16_t value;
    DType dtype;
    bool full;  // one element for each element of a row; else one per row
  };
  std::vector<Output> outputs;
  std::int64_t held = 1;  // rows that are alive at a time
  std::vector<std::uint32_t> words;
  friend bool operator==(const RowSteps& a, const RowSteps& b) { return a.words == b.words; }
  friend std::uint64_t hash_value(const RowSteps& steps) { return reflect::hash(steps.words); }
};

/// Returns none if it has a step that kernels of rows do not implement.
std::optional<RowSteps> row_steps(const op::Sequence& sequence, const op::RowForm& form, const Call& call);

/// The shape in which a step sees its operands, and the dimension where a row begins in it.
std::pair<Shape, int> seen_by(const op::SequenceStep& step, const Shape& operand, const Shape& result,
                              const op::RowForm& form);

}  // namespace kiln::gpu::family
