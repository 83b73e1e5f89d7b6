#include "kiln/backend/cpu/amx/gathered.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/amx/matmul.hpp"
#include "kiln/backend/cpu/amx/windows.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::amx {

using conv::Geometry;
using std::int64_t;
using std::uint16_t;

namespace {

/// Returns the windows as a matrix [pixels, in * kernel]; `value` owns the memory.
struct GatheredWindows {
  Value value;
  int64_t rows, columns;

  GatheredWindows(const Geometry& g, const conv::Operand& x);
};

GatheredWindows::GatheredWindows(const Geometry& g, const conv::Operand& x)
    : value(
          make_ref<Node>(Desc{{g.batch * Geometry::product(g.result), g.in * Geometry::product(g.kernel)}, DType::BF16},
                         x.value.device())),
      rows(value.dim(0)),
      columns(value.dim(1)) {
  const Array array = allocate(value, MemoryUse::Scratch);
  const auto* const image = x.array.as<const uint16_t>();
  const WindowSet set = forward_windows(g);
  const Pixels from = Pixels::of(g.sizes);
  const auto places = static_cast<int64_t>(set.places.size());
  const std::vector<uint16_t> zeros(static_cast<std::size_t>(g.in), 0);
  const Turn turn(places);
  parallel_for(rows, 8, [&](int64_t begin, int64_t end) {
    alignas(64) uint16_t lines[Turn::kMost * kBlock];
    for (int64_t row = begin; row < end; ++row) {
      const uint16_t* numbers[Turn::kMost];
      for (int64_t t = 0; t < places; ++t)
        find(set.results, from, set.places[static_cast<std::size_t>(t)], row, 1, image, g.in, zeros.data(),
             numbers + t);
      for (int64_t i = 0; i < g.in; i += kBlock) {
        uint16_t* const to = array.as<uint16_t>() + row * columns + i * places;
        const int64_t count = std::min(kBlock, g.in - i);
        for (int64_t t = 0; t < places; ++t) std::copy_n(numbers[t] + i, count, lines + t * kBlock);
        if (count == kBlock) turn.back(lines, kBlock, to);
        else
          for (int64_t n = 0; n < count * places; ++n) to[n] = lines[n % places * kBlock + n / places];
      }
    }
  });
}

}  // namespace

void convolve_gathered(const Geometry& g, const conv::Operand& x, const conv::Operand& weight, const conv::Operand&,
                       Value& y, const Epilogue* epilogue) {
  const GatheredWindows windows(g, x);
  const int64_t k = windows.columns;
  std::byte* const to = epilogue ? nullptr : allocate(y, channels_last_strides(y.shape())).data;
  const Product product{.dtype = DType::BF16,
                        .m = windows.rows,
                        .n = g.out,
                        .k = k,
                        .batch = {},
                        .a = {read(windows.value).data, k, 1, {}},
                        .b = {weight.array.data, 1, k, {}},
                        .c = {to, g.out, 1, {}}};  // with names, since g++ 13 crashes otherwise
  multiply(product, weight.value, epilogue);
}

void convolve_weight_gathered(const Geometry& g, const conv::Operand& x, const conv::Operand& y, Value& weight) {
  const GatheredWindows windows(g, x);
  const int64_t n = windows.columns;
  const Product product{.dtype = DType::BF16,
                        .m = g.out,
                        .n = n,
                        .k = windows.rows,
                        .batch = {},
                        .a = {y.array.data, 1, g.out, {}},
                        .b = {read(windows.value).data, n, 1, {}},
                        .c = {allocate(weight).data, n, 1, {}}};  // with names, since g++ 13 crashes otherwise
  multiply(product, windows.value, nullptr);
}

}  // namespace kiln::cpu::amx
