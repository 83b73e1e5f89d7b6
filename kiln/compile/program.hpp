// The program that is printed as C: buffers, and loops over them in order. Every op becomes loops of one form, an
// expression of elements at affine places, which differ in data alone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/core/scalar.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/ops/planned/fused.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::compile {

/// A number for each dimension of a loop: sizes, strides in elements.
using Counts = std::vector<std::int64_t>;

struct Buffer {
  enum class Place : std::uint8_t { Input, Output, Constant, Arena };
  Place place = Place::Arena;
  DType dtype = DType::F32;
  std::int64_t count = 0;    // of elements
  int position = 0;          // of an Input or Output: which one
  TensorData data{};         // of a Constant
  std::int64_t offset = -1;  // of a buffer in the Arena: where it begins, in bytes
  bool merged = false;       // another buffer has its place: no loop names it

  std::int64_t bytes() const { return count * static_cast<std::int64_t>(size_of(dtype)); }
};

/// Element offset + sum(i[d] * strides[d]) of a buffer. Where `index` is set, the element of that operand, an integer,
/// times `index_stride` is added; one outside [0, index_size) ends the program with an error.
struct Access {
  int buffer = -1;
  std::int64_t offset = 0;
  Counts strides{};
  int index = -1;
  std::int64_t index_stride = 0, index_size = 0;
};

/// A place in a padded dimension, which must lie in [0, size): other iterations are left out.
struct Guard {
  Counts strides{};
  std::int64_t offset = 0, size = 0;
};

/// An element of a buffer, or a number in its place.
struct Operand {
  bool is_number = false;
  Scalar number{};
  DType dtype = DType::F32;
  Access access{};
};

/// Steps on operands, as in op::Program; `value` is the result.
struct Expression {
  std::vector<Operand> in{};
  std::vector<op::ProgramStep> steps{};
  op::ProgramOperand value{};

  DType dtype_of(op::ProgramOperand operand) const {
    return operand.from == op::ProgramOperand::Input ? in[operand.index].dtype : steps[operand.index].dtype;
  }
  DType dtype() const { return dtype_of(value); }
};

/// What a loop does with the value of each iteration.
enum class Mode : std::uint8_t {
  Store,    // out[0] = value
  Update,   // out[0] = fn(out[0], value)
  Fold,     // out[0] = fn of all values of the dimensions from `kept` on, which are the inner ones
  Extreme,  // out[0] = the extreme of these values, and out[1] = its index; either may be absent
  Scan,     // Fold whose every intermediate result is stored
};

struct Loop {
  Mode mode = Mode::Store;
  Counts sizes{};
  int kept = 0;
  Expression value{};
  std::vector<Access> out{};  // an absent one has no buffer
  std::vector<Guard> guards{};
  op::ReduceFn fn = op::ReduceFn::Sum;
  DType accumulator = DType::F32;  // the type in which values are folded
  std::int64_t divisor = 1;        // of a mean
  bool exclusive = false;          // of a scan: without the element itself
  bool tiled = false;              // a Fold whose sums are made in tiles (tile.hpp)
  int start = -1;                  // of a tiled one: the operand that the sums begin with; zeros without
  op::ArgFn extreme = op::ArgFn::ArgMax;
  Guard index{};        // of an Extreme: the index of an iteration
  std::string layer{};  // the op that it comes from, for people
};

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Loop> loops;
  std::vector<Desc> inputs, outputs;
  std::vector<int> input_buffers, output_buffers;
  std::int64_t arena_bytes = 0;
  bool halves = false;  // large constants are kept as float16

  Buffer& operator[](int buffer) { return buffers[static_cast<std::size_t>(buffer)]; }
  const Buffer& operator[](int buffer) const { return buffers[static_cast<std::size_t>(buffer)]; }
  /// The bytes of all constants.
  std::int64_t constant_bytes() const;
};

/// Calls f(buffer, writes) for each buffer that the loop names; one that is updated is named as read and as written.
template <class F>
void each_buffer(const Loop& loop, F&& f) {
  for (const Operand& operand : loop.value.in)
    if (!operand.is_number) f(operand.access.buffer, false);
  for (const Access& out : loop.out) {
    if (out.buffer < 0) continue;
    if (loop.mode == Mode::Update) f(out.buffer, false);
    f(out.buffer, true);
  }
}

}  // namespace kiln::compile
