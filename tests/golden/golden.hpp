// Kiln against what other libraries make of the same inputs. golden.safetensors, which golden.py's scripts write, holds
// the inputs, outputs and gradients of each case; a row says how Kiln computes the case of its name.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kiln/ops/functions.hpp"

namespace kiln::golden {

struct Row {
  std::string name;
  std::function<Values(const Values&)> function;
  double tolerance = 1;    // multiplies that of the element type
  bool needs_case = true;  // false: nothing may be stored for it

  /// f gives a Value or Values.
  template <class F>
  Row(std::string name, F f, double tolerance = 1)
      : name(std::move(name)), function([f](const Values& in) { return Values{f(in)}; }), tolerance(tolerance) {}
};
using In = const Values&;

/// A file of rows adds its own: `const Rows view({{"flatten", [](In in) { return flatten(in[0], 1); }}, ...});`
struct Rows {
  explicit Rows(std::vector<Row> rows);
};

}  // namespace kiln::golden
