// op::Batched on the processor: the parts are divided among the threads, as none is large enough for two of them.
#include <algorithm>

#include "kiln/backend/cpu/cpu.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::cpu {

void Cpu::run_batched(const op::BatchedOps& parts, Call call) {
  constexpr std::int64_t kGrain = 1 << 15;  // elements, about 10 us
  std::int64_t elements = 0;
  for (const Value& out : call.out) elements += out.numel();
  const auto count = static_cast<std::int64_t>(parts.all.size());
  parallel_for(count, std::max<std::int64_t>(1, count * kGrain / std::max(elements, kGrain)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const op::BatchedOp& part = parts.all[static_cast<std::size_t>(i)];
                   run_kernel(part.op, {call.in.subspan(part.operands.first, part.operands.count),
                                        call.out.subspan(part.results.first, part.results.count)});
                 }
               });
}

}  // namespace kiln::cpu
