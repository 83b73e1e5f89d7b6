// The frequent special functions of one operand, of any float type, computed in blocks of doubles.
#include "kiln/backend/cpu/simd/special/special.hpp"

#include <algorithm>

#include "kiln/backend/cpu/simd/elementwise/operand.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 2048;  // the minimum number of numbers per thread

}  // namespace

bool run(const op::Special& op, Call call) {
  const SpecialBlock function = bessel_block(op.fn);
  if (!function) return false;
  const Array result = allocate(call.out[0], follow_order(call.out[0].shape(), call.in));
  const Operand x(call.in[0], result, DType::F64);
  const auto size = static_cast<std::int64_t>(size_of(result.dtype));
  parallel_for(result.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    Feed<double> feed(x);
    double made[kBlock];
    for (std::int64_t at = begin; at < end;) {
      // A constant is repeated for the length of one vector only.
      const bool constant = feed.read(at, 1).step == 0;
      const std::int64_t most = constant ? kVectorBytes / static_cast<std::int64_t>(sizeof(double)) : kBlock;
      const std::int64_t count = feed.limit(at, std::min(end - at, most));
      function(feed.read(at, count).data, made, static_cast<std::size_t>(count));
      convert(DType::F64, made, result.dtype, result.data + at * size, count);
      at += count;
    }
  });
  return true;
}

}  // namespace kiln::cpu::simd
