#include "kiln/backend/cpu/simd/elementwise/tile_source.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"

namespace kiln::cpu::simd {
namespace {

template <class Word>
void repeat_word(void* elements, std::int64_t n) {
  auto* const words = static_cast<Word*>(elements);
  std::fill_n(words, n, *words);
}
}  // namespace

void repeat_first(void* elements, std::size_t size, std::int64_t n) {
  switch (size) {
    case 1: return repeat_word<std::uint8_t>(elements, n);
    case 2: return repeat_word<std::uint16_t>(elements, n);
    case 4: return repeat_word<std::uint32_t>(elements, n);
    default: return repeat_word<std::uint64_t>(elements, n);
  }
}

DType set_number(const TileStep& step, std::size_t k, const Scalar& number, DType dtype, std::byte* vector,
                 Tile& tile) {
  std::optional<double> inverse = step.multiply && k == 1 ? exact_inverse(number) : std::nullopt;
  if (is_half(dtype)) dtype = step.reads[k];
  constexpr double kMostF16 = 32768;  // the largest power of two
  if (inverse && dtype == DType::F16 && std::abs(*inverse) > kMostF16) inverse.reset();
  if (inverse) store(Scalar(*inverse), dtype, vector);
  else store(number, dtype, vector);
  repeat_first(vector, size_of(dtype), kVectorBytes / static_cast<std::int64_t>(size_of(dtype)));
  tile.data = vector;
  tile.step = 0;
  tile.inverted = inverse.has_value();
  return dtype;
}

}  // namespace kiln::cpu::simd
