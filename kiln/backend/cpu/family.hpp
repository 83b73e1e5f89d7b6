// Makes a family of kernels from its overloads of run().
#pragma once
#include <type_traits>

#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::cpu {

/// `Run` calls the family's run(op, call), and can be called only with ops for which the family has an overload.
template <class Run>
FastKernels family(Run) {
  return {.has =
              [](const op::Op& op) {
                return op::visit(op, []<class T>(const T&) { return std::is_invocable_v<Run, const T&, Call>; });
              },
          .run =
              [](const op::Op& op, Call call) {
                return op::visit(op, [&]<class T>(const T& o) -> bool {
                  if constexpr (std::is_invocable_v<Run, const T&, Call>) return Run{}(o, call);
                  else return false;
                });
              }};
}

}  // namespace kiln::cpu
