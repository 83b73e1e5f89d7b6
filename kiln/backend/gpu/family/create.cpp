// Creates tensors from plain numbers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"

namespace kiln::gpu::family {
namespace {

/// How many elements a thread stores at once: 16 bytes.
int neighbours(DType dtype) { return static_cast<int>(16 / size_of(dtype)); }

/// The index of the first of a thread's `width` elements.
Expr first_of_thread(Builder& k, DType index, int width) { return (k.place(index)) * width; }

struct FillKernel {
  DType word, index;

  Kernel kernel() const {
    Builder k("fill", kThreads);
    const Buffer to = k.output(word);
    const Expr count = k.number(index), value = k.number(word);
    const std::vector<Expr> values(static_cast<std::size_t>(neighbours(word)), value);
    store_before(k, to, first_of_thread(k, index, neighbours(word)), count, values);
    return k.finish();
  }
};

struct ArangeKernel {
  DType dtype, counted, index;  // `counted`: int64, float64, or float32 if that is exact

  Kernel kernel() const {
    Builder k("arange", kThreads);
    const Buffer to = k.output(dtype);
    const Expr count = k.number(index), start = k.number(counted), step = k.number(counted);
    const Expr first = first_of_thread(k, index, neighbours(dtype));
    std::vector<Expr> values;
    for (int i = 0; i < neighbours(dtype); ++i)
      values.push_back(k.convert(start + (first + i).as(counted) * step, counted, dtype));
    store_before(k, to, first, count, values);
    return k.finish();
  }
};

/// Is start + i * step, for all i below `count`, computed without rounding in float32? It is where all numbers on the
/// way are multiples of one power of two, and below 2^24 of them.
bool is_exact_in_float32(double start, double step, std::int64_t count) {
  constexpr int kDigits = std::numeric_limits<float>::digits, kLeast = std::numeric_limits<float>::min_exponent,
                kMost = std::numeric_limits<float>::max_exponent - kDigits;
  const double last = step * static_cast<double>(count - 1),
               largest = std::max({std::abs(start), std::abs(step), std::abs(last), std::abs(start + last)});
  if (!std::isfinite(largest) || count > std::int64_t{1} << kDigits) return false;
  if (largest == 0) return true;
  const int unit = std::ilogb(largest) + 1 - kDigits;
  const auto is_multiple = [&](double x) { return std::trunc(std::ldexp(x, -unit)) == std::ldexp(x, -unit); };
  return unit >= kLeast && unit <= kMost && is_multiple(start) && is_multiple(step);
}

}  // namespace

bool run(Gpu& gpu, const op::Fill&, Call call) {
  const Array z = gpu.allocate(call.out[0]);
  if (z.numel() == 0) return true;
  std::int64_t bits = 0;
  visit_dtype(z.dtype, [&]<class T>(TypeTag<T>) {
    const T number = call.in[op::Fill::value].scalar().to<T>();
    std::memcpy(&bits, &number, sizeof(number));
  });
  const std::size_t size = size_of(z.dtype);
  if (bits == 0) {
    gpu.driver().clear(z.data, static_cast<std::size_t>(z.numel()) * size);
    return true;
  }
  const FillKernel kernel{word_of(size), index_type(z.numel())};
  gpu.launch(kernel, blocks_for(z.numel(), kThreads * neighbours(z.dtype)), {z, z.numel(), bits});
  return true;
}

bool run(Gpu& gpu, const op::Arange&, Call call) {
  const Array z = gpu.allocate(call.out[0]);
  if (z.numel() == 0) return true;
  const Scalar &start = call.in[op::Arange::start].scalar(), &step = call.in[op::Arange::step].scalar();
  const bool whole = start.kind() != Kind::Float && step.kind() != Kind::Float;
  const bool exact = is_exact_in_float32(start.to<double>(), step.to<double>(), z.numel());
  const DType counted = whole ? DType::I64 : exact ? DType::F32 : DType::F64;
  gpu.launch(ArangeKernel{z.dtype, counted, index_type(z.numel())},
             blocks_for(z.numel(), kThreads * neighbours(z.dtype)),
             {z, z.numel(), Argument(start, counted), Argument(step, counted)});
  return true;
}

}  // namespace kiln::gpu::family
