#include "kiln/backend/cpu/simd/simd.hpp"

namespace kiln::cpu {

FastKernels simd_kernels() {
  return {.has =
              [](const op::Op& op) {
                return op::visit(op, []<class T>(const T& o) {
                  return !std::is_same_v<decltype(simd::run(o, Call{})), std::false_type>;
                });
              },
          .run = [](const op::Op& op,
                    Call call) { return op::visit(op, [&](const auto& o) -> bool { return simd::run(o, call); }); },
          .multiply = simd::multiply,
          .finish = simd::finish};
}

}  // namespace kiln::cpu
