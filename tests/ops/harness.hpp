// The op-row harness. A row names an op, how to call it, what its operands look like and what it means in float64;
// that buys it every check in harness.cpp: values on each device, in each float type, from strided operands, on one
// thread and on several, gradients and second-order gradients by finite differences of the meaning.
//
// The meaning is written with plain loops over Array and never calls Kiln's tensor functions.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kiln/ops/backend.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln::test {

/// A tensor of doubles, the simplest thing that can be indexed.
struct Array {
  Shape shape;
  std::vector<double> v;

  Array() = default;
  explicit Array(const Shape& shape, double fill = 0)
      : shape(shape), v(static_cast<std::size_t>(kiln::numel(shape)), fill) {}
  // By pointers, as what it calls is not inlined in tests (-Og), and meanings do little else.
  std::int64_t offset(const Dims& index) const {
    const std::int64_t *size = shape.begin(), *place = index.begin();
    std::int64_t at = 0;
    for (int left = shape.size(); left > 0; --left) at = at * *size++ + *place++;
    return at;
  }
  double& operator()(const Dims& index) { return v.data()[offset(index)]; }
  double operator()(const Dims& index) const { return v.data()[offset(index)]; }
};

/// Calls f(index) for every index of `shape`, in row-major order.
void each_index(const Shape& shape, const std::function<void(const Dims&)>& f);
/// The element of `x` that broadcasts to `index` of a larger shape.
double broadcast_at(const Array& x, const Dims& index);

/// What one operand is filled with: distinct numbers spread evenly over (low, high), in a random order, none of them
/// near a multiple of (high - low) / count. So kinks at 0 or at ties are never within reach of a finite difference.
struct OperandSpec {
  Shape shape;
  double low = -2, high = 2;
  enum Kind { Real, Index, Flag } kind = Real;  // Index: whole numbers in [low, high), int64; Flag: booleans
};

struct OpCase {
  std::string name;  // letters, digits and underscores
  std::vector<OperandSpec> operands;
  std::function<Values(const Values&)> function;
  std::function<std::vector<Array>(const std::vector<Array>&)> meaning;
  double tolerance = 1;  // multiplies the tolerance of the element type
  bool gradient = true;  // false: no operand has one
  bool halves = true;    // also checked in float16 and bfloat16
};

std::ostream& operator<<(std::ostream& out, const OpCase& row);

/// Every family's rows. A file of rows adds its own: `const Family index(&index_rows);`
struct Family {
  explicit Family(std::vector<OpCase> (*rows)());
};
std::vector<OpCase> all_rows();

/// Operands as the row describes them, on that device; those with a gradient are tracked where it is autodiff.
Values operands_of(const OpCase& row, DType dtype, const Device& device);
/// The processor, autodiff; each op that runs on it is noted first.
Device spying_device(std::function<void(const op::Op&, Call)> note);

/// What emit() can be asked for: each op, and each function of those that have several ("exp", not "unary").
std::set<std::string> functions_of_the_table();

}  // namespace kiln::test
