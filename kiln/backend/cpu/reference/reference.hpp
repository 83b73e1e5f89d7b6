// A plain kernel for every primitive: for any strides and every element type that the op takes, on any platform. Other
// kernels are compared with these; they run where there is no better kernel.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::reference {

/// Each op without an expansion has one, in the file of its family: `template <> void run(const op::Cat& op, Call
/// call)`. The linker names one that is missing.
template <class T> void run(const T& op, Call call);

}  // namespace kiln::cpu::reference
