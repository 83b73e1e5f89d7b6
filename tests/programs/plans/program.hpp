// Random programs for the planner: of every element type, large and small, with results that are read at once, at the end
// or never. What runs fused must be what runs one operation at a time, to the bit.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kiln/ops/functions.hpp"

namespace kiln::plans {

enum class Reading : std::uint8_t { Never, Late, Early };

/// Types as the program says them, or float64 in place of every float.
struct Types {
  bool exact = false;
  DType operator()(DType dtype) const { return exact && kind_of(dtype) == Kind::Float ? DType::F64 : dtype; }
};

struct Line {
  std::string code;     // as C++, of x, y and z, the operands
  std::vector<int> in;  // their lines
  std::function<Value(const Device&, const Values&, const Types&)> run;
  Shape shape;
  DType dtype;
  Reading reading = Reading::Never;
  bool leaf = false;
  bool decided = false;  // made of what rounding may turn: a comparison, an integer of a float, sums that cancel out
  bool hidden = false;   // to be read by the next line alone
};

struct Program {
  std::uint64_t seed = 0;
  std::string scale;  // how large it is, in a word
  std::vector<Line> lines;
  bool differentiates = false;
};

Program make_program(std::uint64_t seed);
/// As C++ statements.
std::string snippet(const Program& program);

/// What is wrong with what `fused` gives, compared with `plain`, where each operation runs for itself, with the reference
/// device and with float64; nothing if they agree.
std::optional<std::string> check(const Program& program, const Device& fused, const Device& plain);
/// Without the lines that do not matter to what is wrong.
Program shrink(Program program, const Device& fused, const Device& plain);

}  // namespace kiln::plans
