#include "kiln/backend/cpu/simd/norm/channel_norm.hpp"

#include <cmath>

#include "kiln/backend/cpu/simd/elementwise/convert.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

constexpr int64_t kPiece = 4096;  // so few elements that their float sums are exact enough and they stay in the cache

Parts::Parts(int64_t rows, int64_t length)
    : rows(rows),
      grain(std::max(
          {(rows + kMostParts - 1) / kMostParts, limited_grain(kGrain / std::max<int64_t>(length, 1)), int64_t{1}})) {}

void Moments::merge(const Moments& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const double total = count + other.count, share = other.count / total, distance = other.mean - mean;
  mean += distance * share;
  squares += other.squares + distance * distance * count * share;
  count = total;
}

Moments moments_of(const float* x, int64_t count, bool centred) {
  const NormRows& rows = norm_rows();
  Moments all;
  for (int64_t i = 0; i < count; i += kPiece) {
    const Moments piece = rows.moments(x + i, std::min(kPiece, count - i), centred);
    if (centred) all.merge(piece);
    else all.count += piece.count, all.squares += piece.squares;
  }
  return all;
}
void add_products(const float* g, Coefficients a, const float* x, float mean, int64_t count, double* sums) {
  const NormRows& rows = norm_rows();
  for (int64_t i = 0; i < count; i += kPiece)
    rows.product_sums(g + i, {a.data + i * a.step, a.step}, x + i, mean, std::min(kPiece, count - i), sums);
}

ChannelGradient::ChannelGradient(double g, double gx, double x, int64_t count, float weight, double variance) {
  const double size = static_cast<double>(count), distance = x / size, product = gx - distance * g;
  const double inverse = 1 / std::sqrt(variance), slope = weight * inverse;
  rest = static_cast<float>(distance);
  a = static_cast<float>(slope);
  b = static_cast<float>(-slope * inverse * inverse * product / size);
  c = static_cast<float>(-slope * g / size);
  dweight = static_cast<float>(product * inverse);
  dbias = static_cast<float>(g);
}

template <class T>
std::vector<T> per_channel(const Value& value, std::int64_t channels, std::type_identity_t<T> missing) {
  std::vector<T> numbers(static_cast<std::size_t>(channels), missing);
  if (value.empty()) return numbers;
  Value held;
  const Array array = read_contiguous(value, held);
  convert(array.dtype, array.data, dtype_of<T>, numbers.data(), channels);
  return numbers;
}
template std::vector<float> per_channel<float>(const Value&, std::int64_t, float);
template std::vector<double> per_channel<double>(const Value&, std::int64_t, double);

}  // namespace kiln::cpu::simd
