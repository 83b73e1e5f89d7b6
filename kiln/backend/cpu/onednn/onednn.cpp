#include "kiln/backend/cpu/onednn/onednn.hpp"

#include "kiln/ops/op.hpp"

namespace kiln::cpu {

FastKernels onednn_kernels() {
  return {.has =
              [](const op::Op& op) {
                return op::visit(op, []<class T>(const T& o) {
                  return !std::is_same_v<decltype(onednn::run(o, Call{})), std::false_type>;
                });
              },
          .run = [](const op::Op& op,
                    Call call) { return op::visit(op, [&](const auto& o) -> bool { return onednn::run(o, call); }); },
          .multiply = onednn::multiply};
}

}  // namespace kiln::cpu
