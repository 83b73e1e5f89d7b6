// Runs a program on a device and collects what it saw on the way.
#pragma once
#include "tests/programs/stateful/schedule.hpp"

namespace kiln::stateful {

struct Observation {
  int step;  // that made it; the number of steps: what was left at the end
  std::string name;
  TensorData data;
};
using Trace = std::vector<Observation>;

struct Setting {
  Device device;
  DType dtype = DType::F32, autocast = DType::F32;  // of the parameters, and of a scope
  double perturbation = 0;                          // of parameters and inputs, relative
};

/// An error of the library says which step it belongs to.
Trace run(const Program& program, const Setting& setting);

}  // namespace kiln::stateful
