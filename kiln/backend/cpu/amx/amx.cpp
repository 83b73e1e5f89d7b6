#include "kiln/backend/cpu/amx/amx.hpp"

#include "kiln/ops/op.hpp"

namespace kiln::cpu {

FastKernels amx_kernels() {
  return {.has =
              [](const op::Op& op) {
                return amx::available() && op::visit(op, []<class T>(const T& o) {
                         return !std::is_same_v<decltype(amx::run(o, Call{})), std::false_type>;
                       });
              },
          .run = [](const op::Op& op,
                    Call call) { return op::visit(op, [&](const auto& o) -> bool { return amx::run(o, call); }); },
          .multiply = amx::multiply};
}

}  // namespace kiln::cpu
