// Depthwise convolutions of 8-bit integers. They are computed in float32, some rows at a time, which is exact while the
// sums are below 2^24.
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/conv/depthwise_image.hpp"
#include "kiln/backend/cpu/integer/integer.hpp"
#include "kiln/backend/cpu/integer/product.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::integer {
namespace {

using conv::DepthwiseShape;
using conv::Geometry;
using std::int64_t;

/// Packs a weight [channels, 1, kernel...] as float32 [kernel..., channels], minus its zero point.
struct PackPlaces {
  int64_t channels, places;
  std::int32_t zero;
  bool is_signed;

  std::size_t bytes() const { return static_cast<std::size_t>(channels * places) * sizeof(float); }
  void pack(const std::byte* from, std::byte* to) const {
    std::vector<float> plain(static_cast<std::size_t>(channels * places));
    byte_kernels().to_floats(from, is_signed, zero, channels * places, plain.data());
    auto* const packed = reinterpret_cast<float*>(to);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t k = 0; k < places; ++k) packed[k * channels + c] = plain[static_cast<std::size_t>(c * places + k)];
  }
};

/// Returns the packed weight. It is cached if all channels have one zero point, as nearly all weights do.
Ref<Memory> packed_weight(const Geometry& g, const conv::ConvOperand& weight, const Value& zero) {
  const bool is_signed = weight.array.dtype == DType::I8;
  const int64_t places = Geometry::product(g.kernel);
  const std::vector<std::int32_t> zeros = zeros_of(zero, false, g.in);
  const std::int32_t first = zeros.empty() ? 0 : zeros[0];
  const PackPlaces packer{g.in, places, first, is_signed};
  if (std::ranges::all_of(zeros, [&](std::int32_t x) { return x == first; })) return packed(weight.value, packer);
  auto block = make_ref<Memory>(packer.bytes());
  packer.pack(weight.array.data, block->bytes());
  auto* const factors = reinterpret_cast<float*>(block->bytes());
  for (int64_t k = 0; k < places; ++k)
    for (int64_t c = 0; c < g.in; ++c)
      factors[k * g.in + c] -= static_cast<float>(zeros[static_cast<std::size_t>(c)] - first);
  return block;
}

}  // namespace

void depthwise(const Geometry& g, const Array& x, std::int32_t zero, const conv::ConvOperand& weight,
               const Value& weight_zero, const Epilogue* epilogue, std::int32_t* result) {
  const Ref<Memory> block = packed_weight(g, weight, weight_zero);
  const auto* const factors = reinterpret_cast<const float*>(block->bytes());
  const std::vector<float> none(static_cast<std::size_t>(g.in), 0.0f);
  const bool is_signed = x.dtype == DType::I8;
  // These are rows along the first axis, including all of the other axes.
  const int64_t rows = g.result[0], row_numbers = Geometry::product(g.result) / rows * g.in,
                x_row = Geometry::product(g.sizes) / g.sizes[0] * g.in;
  constexpr int64_t kSome = 1 << 15;  // numbers of a piece, which stay in the second-level cache as floats
  const int64_t wanted = std::max(divide_up(rows * row_numbers, kSome), divide_up(pieces(g.batch * g.cost()), g.batch)),
                some = divide_up(rows, std::min(rows, wanted)), parts = divide_up(rows, some);
  parallel_for(g.batch * parts, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    auto* const data = scratch.take<float>(std::min(g.sizes[0], (some - 1) * g.stride[0] + g.reach(0)) * x_row);
    auto* const sums = scratch.take<float>(some * row_numbers);
    auto* const words = scratch.take<std::int32_t>(epilogue ? some * row_numbers : 0);
    for (int64_t part = begin; part < end; ++part) {
      const int64_t image = part / parts, first = part % parts * some, last = std::min(rows, first + some);
      const Geometry piece = g.rows(first, last);
      const DepthwiseShape shape(piece);
      const int64_t numbers = piece.sizes[0] * x_row, made = (last - first) * row_numbers;
      byte_kernels().to_floats(x.data + image * g.sizes[0] * x_row + g.first_row(first) * x_row, is_signed, zero,
                               numbers, data);
      for (int64_t row = 0; row < shape.result[0] * shape.result[1]; ++row)
        conv::depthwise_kernels().row(shape, data, factors, none.data(), sums, nullptr, row / shape.result[1],
                                      row % shape.result[1]);
      const int64_t place = (image * rows + first) * row_numbers;
      byte_kernels().to_words(sums, made, epilogue ? words : result + place);
      if (epilogue) epilogue->finish({place, 1, made, made, reinterpret_cast<const std::byte*>(words), made});
    }
  });
}

}  // namespace kiln::cpu::integer
