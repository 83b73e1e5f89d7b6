// Numbers in records, which consist of tensors: a float64 of rank 0.
#pragma once
#include <string>

#include "kiln/ops/functions.hpp"

namespace kiln {

Value as_tensor(double number);

/// Calls f(name, tensor), and sets `number` to the tensor's value afterwards.
template <class F>
void visit_number(F&& f, const std::string& name, double& number) {
  Value tensor = as_tensor(number);
  f(name, tensor);
  number = tensor.item();
}
template <class F>
void visit_number(F&& f, const std::string& name, const double& number) {
  const Value tensor = as_tensor(number);
  f(name, tensor);
}

}  // namespace kiln
