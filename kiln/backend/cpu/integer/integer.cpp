#include "kiln/backend/cpu/integer/integer.hpp"

#include "kiln/backend/cpu/family.hpp"

namespace kiln::cpu {

FastKernels integer_kernels() {
  FastKernels kernels =
      family([](const auto& op, Call call) -> decltype(integer::run(op, call)) { return integer::run(op, call); });
  kernels.multiply = integer::multiply;
  return kernels;
}

}  // namespace kiln::cpu
