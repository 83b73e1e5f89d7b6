// Adds overlapping windows. The other dimensions are split over threads, and the sum of each element is in the order of
// the windows' elements.
#include <algorithm>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/index/update.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/view/view_ops.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 16384;  // the minimum number of elements per thread
constexpr std::int64_t kSlice = 8192;   // so few elements stay in the first-level cache

template <class T>
void fold(const op::Fold& op, const Array& windows, const Array& z) {
  parallel_for(z.numel(), 4 * kGrain,
               [&](std::int64_t begin, std::int64_t end) { std::fill(z.as<T>() + begin, z.as<T>() + end, T{0}); });
  const std::int64_t size = windows.shape.back(), from_step = windows.strides.back();
  const std::int64_t to_step = z.strides[op.dim] * op.dilation;
  // The layouts of element k of all windows, in `windows` and in z.
  Shape shape = windows.shape;
  Dims from = windows.strides, to = z.strides;
  shape.pop_back();
  from.pop_back();
  to[op.dim] *= op.step;
  // Split the other dimensions over threads, the outermost first, until a slice stays in the first-level cache
  // for all k.
  Shape shared;
  Dims from_shared, to_shared;
  for (int dim = op.dim; shape.size() > 1;) {
    const int outermost = dim == 0 ? 1 : 0;
    const bool last = shape.size() == 2 && !shared.empty();
    if (last || (!shared.empty() && numel(shape) * size <= kSlice)) break;
    shared.push_back(shape[outermost]);
    from_shared.push_back(from[outermost]);
    to_shared.push_back(to[outermost]);
    shape.erase(outermost);
    from.erase(outermost);
    to.erase(outermost);
    dim -= outermost < dim;
  }
  const Rows<2> slices(shared, {to_shared, from_shared});
  const Rows<2> rows(shape, {to, from});
  const auto [z_stride, row_stride] = rows.steps();
  const bool dense = z_stride == 1 && row_stride == 1;
  const UpdateRow<T> add(Update::Add);
  const auto add_slice = [&, z_stride = z_stride, row_stride = row_stride](T* into, const T* slice) {
    rows.each([&](const auto& offsets) {
      T* target = into + offsets[0];
      const T* source = slice + offsets[1];
      if (dense) return add(target, source, rows.length());
      if (z_stride == 1)
        for (std::int64_t i = 0; i < rows.length(); ++i) target[i] += source[i * row_stride];
      else
        for (std::int64_t i = 0; i < rows.length(); ++i) target[i * z_stride] += source[i * row_stride];
    });
  };
  const std::int64_t work = rows.count() * rows.length() * size;
  parallel_for(slices.count() * slices.length(), std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(work, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t row = i / slices.length(), along = i % slices.length();
                   slices.each(row, row + 1, [&](const auto& offsets) {
                     T* into = z.as<T>() + offsets[0] + along * slices.steps()[0];
                     const T* slice = windows.as<const T>() + offsets[1] + along * slices.steps()[1];
                     for (std::int64_t k = 0; k < size; ++k) add_slice(into + k * to_step, slice + k * from_step);
                   });
                 }
               });
}

}  // namespace

bool run(const op::Fold& op, Call call) {
  const DType dtype = call.in[0].dtype();
  if (dtype != DType::F32 && dtype != DType::F64) return false;
  const Array windows = read(call.in[0]), z = allocate(call.out[0]);
  if (dtype == DType::F32) fold<float>(op, windows, z);
  else fold<double>(op, windows, z);
  return true;
}

}  // namespace kiln::cpu::simd
