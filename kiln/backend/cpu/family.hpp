// Makes a family of kernels from its overloads of run().
#pragma once
#include <type_traits>

#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::cpu {

/// `Run` calls the family's run(op, call), whose result is std::false_type for ops without an overload in the family.
template <class Run>
FastKernels family(Run) {
  return {.has =
              [](const op::Op& op) {
                return op::visit(op, []<class T>(const T& o) {
                  return !std::is_same_v<decltype(Run{}(o, Call{})), std::false_type>;
                });
              },
          .run = [](const op::Op& op,
                    Call call) { return op::visit(op, [&](const auto& o) -> bool { return Run{}(o, call); }); }};
}

}  // namespace kiln::cpu
