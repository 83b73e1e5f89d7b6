// Steps on matrices that the threads of a warp hold together.
#include "kiln/backend/gpu/kernel/interpret/memory.hpp"
#include "kiln/backend/gpu/kernel/interpret/touch.hpp"

namespace kiln::gpu::interpreted {
namespace {

const Kernel::Matrix& shape_of(const Block& block, std::uint16_t place) { return block.program.kernel.matrices[place]; }

/// What the warp that begins at thread `first` holds of a matrix.
float* elements(Block& block, std::uint16_t place, int first) {
  const Kernel::Matrix& shape = shape_of(block, place);
  return block.matrices[place].data.data() + std::ptrdiff_t{first / kLanes} * shape.rows * shape.columns;
}

const float* set_elements(Block& block, std::uint16_t place, int first) {
  if (!block.matrices[place].set[static_cast<std::size_t>(first / kLanes)]) [[unlikely]]
    block.wrong("the warp of thread ", first, " uses matrix ", place, ", which it never set");
  return elements(block, place, first);
}

void set(Block& block, std::uint16_t place, int first) {
  block.matrices[place].set[static_cast<std::size_t>(first / kLanes)] = 1;
}

/// The place of a warp's matrix in shared memory: the place of its first element, and how far its lines are apart.
struct Place {
  std::int64_t at, stride;
};
Place place_of(Block& block, const Step& step, int first) {
  const std::int32_t* const at = block.cells<std::int32_t>(step.operands[0]);
  const std::int32_t* const stride = block.cells<std::int32_t>(step.operands[1]);
  for (int t = first; t < first + kLanes; ++t)
    if (at[t] != at[first] || stride[t] != stride[first]) [[unlikely]]
      block.wrong("threads ", first, " and ", t, " of a warp take different places for one matrix");
  return {at[first], stride[first]};
}

/// Nobody knows which thread touches an element: they take turns.
int thread_of(int first, std::int64_t element) { return first + static_cast<int>(element % kLanes); }

void clear(Block& block, const Step& step) {
  each_warp(block, "a matrix", [&](int first) {
    const Kernel::Matrix& shape = shape_of(block, step.place);
    std::fill_n(elements(block, step.place, first), shape.rows * shape.columns, 0.0f);
    set(block, step.place, first);
  });
}

float element_at(const std::byte* data, DType dtype, std::int64_t place) {
  if (dtype == DType::F16) return element<F16>(data, place);
  return dtype == DType::BF16 ? element<BF16>(data, place) : element<float>(data, place);
}

void load(Block& block, const Step& step) {
  const Kernel::Matrix& shape = shape_of(block, step.place);
  SharedArray& array = block.shared[step.from];
  const auto count = static_cast<std::int64_t>(array.touches.size());
  Step access = step;
  access.place = step.from;
  // An array of words has several elements in each.
  const auto each =
      static_cast<std::int64_t>(size_of(block.program.kernel.shared[step.from].dtype) / size_of(shape.dtype));
  each_warp(block, "a matrix", [&](int first) {
    const Place place = place_of(block, step, first);
    if (place.at * each % 8 != 0) [[unlikely]]
      block.wrong("a matrix is loaded from place ", place.at, " of shared array ", step.from,
                  ", which is no multiple of ", "16 bytes");
    float* const to = elements(block, step.place, first);
    for (std::int64_t row = 0; row < shape.rows; ++row)
      for (std::int64_t column = 0; column < shape.columns; ++column) {
        const std::int64_t line = step.transposed ? column : row, along = step.transposed ? row : column;
        const std::int64_t at = (place.at + line * place.stride) * each + along;
        const int thread = thread_of(first, row * shape.columns + column);
        demand_shared(block, access, thread, at / each, 1, count);
        touch<Access::Read>(block, access, thread, at / each, array.touches[static_cast<std::size_t>(at / each)]);
        to[row * shape.columns + column] = element_at(array.data.data(), shape.dtype, at);
      }
    set(block, step.place, first);
  });
}

void multiply(Block& block, const Step& step) {
  const Kernel::Matrix &left = shape_of(block, step.from), &right = shape_of(block, step.by);
  each_warp(block, "a matrix", [&](int first) {
    const float *const a = set_elements(block, step.from, first), *const b = set_elements(block, step.by, first);
    set_elements(block, step.place, first);
    float* const sums = elements(block, step.place, first);
    for (int row = 0; row < left.rows; ++row)
      for (int depth = 0; depth < left.columns; ++depth)
        for (int column = 0; column < right.columns; ++column)
          sums[row * right.columns + column] += a[row * left.columns + depth] * b[depth * right.columns + column];
  });
}

void scale(Block& block, const Step& step) {
  const Kernel::Matrix& shape = shape_of(block, step.place);
  each_warp(block, "a matrix", [&](int first) {
    const float* const by = set_elements(block, step.from, first);
    set_elements(block, step.place, first);
    float* const all = elements(block, step.place, first);
    for (int i = 0; i < shape.rows * shape.columns; ++i) all[i] *= by[i];
  });
}

void store(Block& block, const Step& step) {
  const Kernel::Matrix& shape = shape_of(block, step.from);
  SharedArray& array = block.shared[step.place];
  const auto count = static_cast<std::int64_t>(array.touches.size());
  each_warp(block, "a matrix", [&](int first) {
    const Place place = place_of(block, step, first);
    const float* const from = set_elements(block, step.from, first);
    for (std::int64_t row = 0; row < shape.rows; ++row)
      for (std::int64_t column = 0; column < shape.columns; ++column) {
        const std::int64_t at = place.at + row * place.stride + column;
        const int thread = thread_of(first, row * shape.columns + column);
        demand_shared(block, step, thread, at, 1, count);
        touch<Access::Write>(block, step, thread, at, array.touches[static_cast<std::size_t>(at)]);
        set_element<float>(block, thread, array.data.data(), at, from[row * shape.columns + column]);
      }
  });
}

}  // namespace

Run run_matrix(Statement::Kind kind) {
  using enum Statement::Kind;
  switch (kind) {
    case MatrixClear: return &clear;
    case MatrixLoad: return &load;
    case MatrixMultiply: return &multiply;
    case MatrixScale: return &scale;
    default: return &store;
  }
}

}  // namespace kiln::gpu::interpreted
