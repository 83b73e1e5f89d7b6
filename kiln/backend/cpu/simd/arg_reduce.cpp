// The place of the extreme of each row: found as a number first, with the fold that Max and Min use, then looked for.
#include <algorithm>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/fold.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/reduce.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 32768;  // elements worth a thread's while

/// The first of the largest (or smallest) of count > 0 elements, or the first NaN.
template <class T, Fold fold>
std::int64_t place_of_extreme(const T* row, std::int64_t count) {
  T extreme = fold_start<T, fold>();
  fold_rows<T, fold>(row, count, 1, 1, &extreme);
  const T* end = row + count;
  const T* found =
      extreme == extreme ? std::find(row, end, extreme) : std::find_if(row, end, [](T x) { return x != x; });
  return found - row;
}

template <class T>
bool arg_reduce(const op::ArgReduce& op, Call call) {
  Value held;
  const Array x = read_contiguous(call.in[0], held);
  const std::int64_t length = x.shape.back();
  const Array z = allocate(call.out[0]);
  parallel_for(z.numel(), std::max<std::int64_t>(1, kGrain / length), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* row = x.as<T>() + i * length;
      z.as<std::int64_t>()[i] = op.fn == op::ArgFn::ArgMax ? place_of_extreme<T, Fold::Max>(row, length)
                                                           : place_of_extreme<T, Fold::Min>(row, length);
    }
  });
  return true;
}

}  // namespace

bool run(const op::ArgReduce& op, Call call) {
  const Shape& shape = call.in[0].shape();
  if (shape.empty() || op.dim != shape.size() - 1 || shape.back() == 0) return false;
  switch (call.in[0].dtype()) {
    case DType::F32: return arg_reduce<float>(op, call);
    case DType::F64: return arg_reduce<double>(op, call);
    default: return false;
  }
}

}  // namespace kiln::cpu::simd
