#include "kiln/backend/cpu/integer/depthwise.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/conv/depthwise_image.hpp"
#include "kiln/backend/cpu/integer/product.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::integer {
namespace {

using conv::DepthwiseShape;
using conv::Geometry;
using std::int64_t;

DepthwiseShape shape_of(const Geometry& g) {
  const auto lifted = [](const Spatial& list, int64_t fill) {
    DepthwiseShape::Axes axes{fill, fill, fill};
    std::copy(list.begin(), list.end(), axes.end() - list.size());
    return axes;
  };
  return {.channels = g.in,
          .sizes = lifted(g.sizes, 1),
          .result = lifted(g.result, 1),
          .kernel = lifted(g.kernel, 1),
          .stride = lifted(g.stride, 1),
          .padding = lifted(g.padding, 0),
          .dilation = lifted(g.dilation, 1)};
}

/// Packs a weight [channels, 1, kernel...] as float32 [kernel..., channels], less its zero point.
struct PackPlaces {
  int64_t channels, places;
  std::int32_t zero;
  bool is_signed;

  std::size_t bytes() const { return static_cast<std::size_t>(channels * places) * sizeof(float); }
  void pack(const std::byte* from, std::byte* to) const {
    std::vector<float> plain(static_cast<std::size_t>(channels * places));
    to_floats(from, is_signed, zero, channels * places, plain.data());
    auto* const packed = reinterpret_cast<float*>(to);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t k = 0; k < places; ++k)
        packed[k * channels + c] = plain[static_cast<std::size_t>(c * places + k)];
  }
};

}  // namespace

bool depthwise_fits(const Geometry& g, const Value& weight_zero) {
  constexpr int64_t kExact = (1 << 24) / (255 * 255);
  if (g.groups != g.in || g.out != g.in || g.in < 8 || Geometry::product(g.kernel) > kExact) return false;
  if (weight_zero && weight_zero.numel() != 1) return false;
  return g.padding[0] < g.reach(0) && g.padding_after[0] < g.reach(0);
}

void depthwise(const Geometry& g, const Array& x, std::int32_t zero, const conv::Operand& weight,
               const Value& weight_zero, const Epilogue* epilogue, std::int32_t* result) {
  const Ref<Memory> packed = cpu::packed(
      weight.value, PackPlaces{g.in, Geometry::product(g.kernel), number_of(weight_zero), weight.array.dtype == DType::I8});
  const auto* const factors = reinterpret_cast<const float*>(packed->bytes());
  const std::vector<float> none(static_cast<std::size_t>(g.in), 0.0f);
  const bool is_signed = x.dtype == DType::I8;
  // Rows along the first axis, with what the others have.
  const int64_t rows = g.result[0], row_numbers = Geometry::product(g.result) / rows * g.in,
                x_row = Geometry::product(g.sizes) / g.sizes[0] * g.in;
  constexpr int64_t kSome = 1 << 15;  // numbers of a piece, which stay in the second-level cache as floats
  const int64_t wanted = std::max(divide_up(rows * row_numbers, kSome), divide_up(pieces(g.batch * g.cost()), g.batch)),
                some = divide_up(rows, std::min(rows, wanted)), parts = divide_up(rows, some);
  parallel_for(g.batch * parts, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> data, sums(static_cast<std::size_t>(some * row_numbers));
    std::vector<std::int32_t> words;
    for (int64_t part = begin; part < end; ++part) {
      const int64_t image = part / parts, first = part % parts * some, last = std::min(rows, first + some);
      const Geometry piece = g.rows(first, last);
      const DepthwiseShape shape = shape_of(piece);
      const int64_t numbers = piece.sizes[0] * x_row, made = (last - first) * row_numbers;
      data.resize(static_cast<std::size_t>(numbers));
      to_floats(x.data + image * g.sizes[0] * x_row + g.first_row(first) * x_row, is_signed, zero, numbers, data.data());
      for (int64_t row = 0; row < shape.result[0] * shape.result[1]; ++row)
        conv::depthwise_row(shape, data.data(), factors, none.data(), sums.data(), nullptr, row / shape.result[1],
                            row % shape.result[1]);
      const int64_t place = (image * rows + first) * row_numbers;
      words.resize(epilogue ? sums.size() : 0);
      to_words(sums.data(), made, epilogue ? words.data() : result + place);
      if (epilogue) epilogue->finish({place, 1, made, made, reinterpret_cast<const std::byte*>(words.data()), made});
    }
  });
}

}  // namespace kiln::cpu::integer
