// A plain kernel for every primitive: any strides, every element type that the op takes, on any platform. What other
// kernels are compared with, and what runs where there is no better one.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::reference {

/// Each op that has no expansion has one, in the file of its family: `template <> void run(const op::Cat& op, Call call)`.
/// One that is missing is named by the linker.
template <class T> void run(const T& op, Call call);

}  // namespace kiln::cpu::reference
