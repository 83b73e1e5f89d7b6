// Who computed what on the device "libtorch".
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace kiln::libtorch {

/// How often an operation ran so far in this process.
struct Runs {
  std::int64_t aten = 0;       // by ATen
  std::int64_t expanded = 0;   // by its expansion
  std::int64_t reference = 0;  // by Kiln's reference kernel
};
/// The runs of all operations, by the name of the function: "matmul", "exp".
std::map<std::string, Runs> runs();

}  // namespace kiln::libtorch
