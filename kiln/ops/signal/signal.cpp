#include "kiln/ops/signal/signal.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/core/size.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/signal/signal_ops.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln {
namespace {

using op::FftKind;

Value as_floats(std::string_view function, const Value& x) {
  require<ArgumentError>(x && !x.is_scalar(), function, ": needs a tensor, got ", x);
  return is_float(x.dtype()) ? x : cast(x, DType::F32);
}

Value as_complex(std::string_view function, const Value& z) {
  require<ArgumentError>(z && !z.is_scalar(), function, ": needs a tensor, got ", z);
  require<ShapeError>(z.rank() >= 1 && z.shape().back() == 2 && is_float(z.dtype()), function, ": ", z,
                      " is not complex: that takes floats with a last dimension of size 2");
  return z;
}

/// x cropped, or padded with zeros, to `size` along `dim`.
Value resize(const Value& x, int dim, std::int64_t size) {
  const std::int64_t now = x.shape()[dim];
  if (size <= now) return size == now ? x : narrow(x, dim, 0, size);
  Dims none = Dims::filled(x.rank(), 0), after = none;
  after[dim] = size - now;
  return pad(x, none, after);
}

double factor(FftNorm norm, bool inverse, std::int64_t n) {
  switch (norm) {
    case FftNorm::Backward: return inverse ? 1 / static_cast<double>(n) : 1;
    case FftNorm::Ortho: return 1 / std::sqrt(static_cast<double>(n));
    case FftNorm::Forward: return inverse ? 1 : 1 / static_cast<double>(n);
  }
  return 1;
}

Value transform(std::string_view function, FftKind kind, bool inverse, const Value& operand,
                const FftOptions& options) {
  const bool from_complex = kind != FftKind::RealToComplex;
  const Value x = from_complex ? as_complex(function, operand) : as_floats(function, operand);
  const int dim = wrap_dim(function, options.dim, x.rank() - from_complex);
  const std::int64_t present = x.shape()[dim];
  const std::int64_t n = options.n                        ? *options.n
                         : kind == FftKind::ComplexToReal ? multiply_sizes(function, 2, present - 1)
                                                          : present;
  require<ArgumentError>(n >= 1, function, ": ", operand, " gives a length of ", n, " along dimension ", options.dim,
                         "; at least 1 is needed");
  const op::Fft fft{.kind = kind, .inverse = inverse, .dim = dim, .n = n};
  return emit(fft, {resize(x, dim, fft.length_in()), factor(options.norm, inverse, n)});
}

/// The dimensions (none negative) and sizes of a transform over several dimensions.
struct Grid {
  Dims dims;
  Shape sizes;  // empty: unchanged
};

Grid grid(std::string_view function, int rank, const FftnOptions& options) {
  Grid grid{options.dims, options.sizes};
  if (grid.dims.empty()) {
    const int count = options.sizes.empty() ? rank : options.sizes.size();
    require<ShapeError>(count <= rank, function, ": ", options.sizes,
                        " names more sizes than the signal has dimensions: ", rank);
    for (int i = rank - count; i < rank; ++i) grid.dims.push_back(i);
  }
  require<ArgumentError>(!grid.dims.empty(), function, ": there is no dimension to transform");
  require<ArgumentError>(grid.sizes.empty() || grid.sizes.size() == grid.dims.size(), function, ": ", grid.sizes,
                         " does not have one size for each of the dimensions ", grid.dims);
  for (int i = 0; i < grid.dims.size(); ++i) {
    grid.dims[i] = wrap_dim(function, grid.dims[i], rank);
    for (int j = 0; j < i; ++j)
      require<ArgumentError>(grid.dims[i] != grid.dims[j], function, ": dimension ", grid.dims[i],
                             " is named twice in ", options.dims);
  }
  return grid;
}

Value complex_grid(std::string_view function, bool inverse, Value z, const Grid& grid, int count, FftNorm norm) {
  for (int i = 0; i < count; ++i) {
    FftOptions along{.dim = static_cast<int>(grid.dims[i]), .norm = norm};
    if (!grid.sizes.empty()) along.n = grid.sizes[i];
    z = transform(function, FftKind::ComplexToComplex, inverse, z, along);
  }
  return z;
}

FftOptions last_of(const Grid& grid, FftNorm norm) {
  FftOptions along{.dim = static_cast<int>(grid.dims.back()), .norm = norm};
  if (!grid.sizes.empty()) along.n = grid.sizes.back();
  return along;
}

Value complex_n(std::string_view function, bool inverse, const Value& z, const FftnOptions& options) {
  const Grid over = grid(function, as_complex(function, z).rank() - 1, options);
  return complex_grid(function, inverse, z, over, over.dims.size(), options.norm);
}
Value real_n(std::string_view function, const Value& x, const FftnOptions& options) {
  const Grid over = grid(function, as_floats(function, x).rank(), options);
  const Value half = transform(function, FftKind::RealToComplex, false, x, last_of(over, options.norm));
  return complex_grid(function, false, half, over, over.dims.size() - 1, options.norm);
}
Value inverse_real_n(std::string_view function, const Value& z, const FftnOptions& options) {
  const Grid over = grid(function, as_complex(function, z).rank() - 1, options);
  const Value half = complex_grid(function, true, z, over, over.dims.size() - 1, options.norm);
  return transform(function, FftKind::ComplexToReal, true, half, last_of(over, options.norm));
}

FftnOptions last_two(FftnOptions options) {
  if (options.dims.empty()) options.dims = {-2, -1};
  return options;
}

/// The options with the factor 1 / n on the inverse transform's side.
template <class Options>
Options other_side(Options options) {
  if (options.norm != FftNorm::Ortho)
    options.norm = options.norm == FftNorm::Backward ? FftNorm::Forward : FftNorm::Backward;
  return options;
}

Value from_doubles(const Shape& shape, const std::vector<double>& elements, const Device& device, DType dtype) {
  return from_data(TensorData::of<double>(shape, std::span<const double>(elements)).to(dtype), device);
}

}  // namespace

// ---- pairs ---------------------------------------------------------------------------------------------------------

Value complex(const Value& real, const Value& imag) {
  const auto zero_of = [](const Value& x) { return x.is_scalar() ? Value(0.0) : zeros_like(x); };
  return stack(Values{real + zero_of(imag) + 0.0, imag + zero_of(real) + 0.0}, -1);
}
Value polar(const Value& magnitude, const Value& angle) {
  return complex(magnitude * cos(angle), magnitude * sin(angle));
}
Value real(const Value& z) { return at(as_complex("real", z), -1, 0); }
Value imag(const Value& z) { return at(as_complex("imag", z), -1, 1); }
Value complex_abs(const Value& z) {
  const Value re = real(as_complex("complex_abs", z)), im = imag(z);
  const Value zero = logical_and(eq(re, 0), eq(im, 0));
  return where(zero, 0, hypot(where(zero, 1, re), im));
}
Value angle(const Value& z) { return atan2(imag(as_complex("angle", z)), real(z)); }
Value conj(const Value& z) { return as_complex("conj", z) * from_doubles({2}, {1, -1}, z.device(), z.dtype()); }
Value complex_mul(const Value& y, const Value& z) {
  const Value a = real(as_complex("complex_mul", y)), b = imag(y);
  const Value c = real(as_complex("complex_mul", z)), d = imag(z);
  return stack(Values{a * c - b * d, a * d + b * c}, -1);
}

// ---- transforms ----------------------------------------------------------------------------------------------------

Value fft(const Value& z, const FftOptions& options) {
  return transform("fft", FftKind::ComplexToComplex, false, z, options);
}
Value ifft(const Value& z, const FftOptions& options) {
  return transform("ifft", FftKind::ComplexToComplex, true, z, options);
}
Value rfft(const Value& x, const FftOptions& options) {
  return transform("rfft", FftKind::RealToComplex, false, x, options);
}
Value irfft(const Value& z, const FftOptions& options) {
  return transform("irfft", FftKind::ComplexToReal, true, z, options);
}

Value fftn(const Value& z, const FftnOptions& options) { return complex_n("fftn", false, z, options); }
Value ifftn(const Value& z, const FftnOptions& options) { return complex_n("ifftn", true, z, options); }
Value rfftn(const Value& x, const FftnOptions& options) { return real_n("rfftn", x, options); }
Value irfftn(const Value& z, const FftnOptions& options) { return inverse_real_n("irfftn", z, options); }
Value fft2(const Value& z, const FftnOptions& options) { return complex_n("fft2", false, z, last_two(options)); }
Value ifft2(const Value& z, const FftnOptions& options) { return complex_n("ifft2", true, z, last_two(options)); }
Value rfft2(const Value& x, const FftnOptions& options) { return real_n("rfft2", x, last_two(options)); }
Value irfft2(const Value& z, const FftnOptions& options) { return inverse_real_n("irfft2", z, last_two(options)); }

// A forward transform is a backward one of the conjugate, with the factor 1 / n on the other side.
Value hfft(const Value& z, const FftOptions& options) { return irfft(conj(z), other_side(options)); }
Value ihfft(const Value& x, const FftOptions& options) { return conj(rfft(x, other_side(options))); }
Value hfftn(const Value& z, const FftnOptions& options) { return irfftn(conj(z), other_side(options)); }
Value ihfftn(const Value& x, const FftnOptions& options) { return conj(rfftn(x, other_side(options))); }
Value hfft2(const Value& z, const FftnOptions& options) { return hfftn(z, last_two(options)); }
Value ihfft2(const Value& x, const FftnOptions& options) { return ihfftn(x, last_two(options)); }

Value fftshift(const Value& x, const Dims& dims) {
  Value moved = x;
  for (const auto dim : dims) moved = roll(moved, x.dim(static_cast<int>(dim)) / 2, static_cast<int>(dim));
  return moved;
}
Value ifftshift(const Value& x, const Dims& dims) {
  Value moved = x;
  for (const auto dim : dims) moved = roll(moved, -(x.dim(static_cast<int>(dim)) / 2), static_cast<int>(dim));
  return moved;
}

Value hilbert(const Value& x, const FftOptions& options) {
  const Value half = transform("hilbert", FftKind::RealToComplex, false, x, {.n = options.n, .dim = options.dim});
  const int dim = wrap_dim("hilbert", options.dim, half.rank() - 1);
  const std::int64_t n = options.n.value_or(x.shape()[dim]);
  // Doubles the positive frequencies and drops the negative ones.
  Shape shape = Shape::filled(half.rank(), 1);
  shape[dim] = n / 2 + 1;
  std::vector<double> weights(static_cast<std::size_t>(shape[dim]), 2);
  weights[0] = 1;
  if (n % 2 == 0) weights[static_cast<std::size_t>(n / 2)] = 1;
  const Value weighted = half * from_doubles(shape, weights, half.device(), half.dtype());
  return ifft(weighted, {.n = n, .dim = dim});
}

// ---- cosine transforms ---------------------------------------------------------------------------------------------
// The cosine transform is computed by a real transform of the same length (Makhoul, "A fast cosine transform in one and
// two dimensions", IEEE ASSP 1980). For v = x[0], x[2], x[4], ..., x[5], x[3], x[1] and V its spectrum,
// V[k] exp(-i pi k / 2n) has the real part y[k] / 2 and the imaginary part -y[n - k] / 2.

namespace {

/// x along the last dimension in the order of v; the inverse permutation where `back`.
Value even_then_odd(const Value& x, bool back) {
  const std::int64_t n = x.shape().back();
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t place = i % 2 == 0 ? i / 2 : n - 1 - i / 2;  // of element i
    if (back) order[static_cast<std::size_t>(i)] = place;
    else order[static_cast<std::size_t>(place)] = i;
  }
  const TensorData index = TensorData::of<std::int64_t>({n}, std::span<const std::int64_t>(order));
  return select(x, -1, from_data(index, x.device()));
}

/// exp(sign * i pi k / 2n) for k up to n / 2, as pairs
Value quarter_turns(std::int64_t n, double sign, const Value& like) {
  std::vector<double> pairs;
  for (std::int64_t k = 0; k <= n / 2; ++k) {
    const double angle = std::numbers::pi * static_cast<double>(k) / (2 * static_cast<double>(n));
    pairs.push_back(std::cos(angle));
    pairs.push_back(sign * std::sin(angle));
  }
  return from_doubles({n / 2 + 1, 2}, pairs, like.device(), like.dtype());
}

/// The factors that make type 2 orthogonal (applied to its results) or type 3 (applied to its operand).
Value ortho_scale(std::int64_t n, bool second, const Value& like) {
  std::vector<double> scale(static_cast<std::size_t>(n), std::sqrt(0.5 / static_cast<double>(n)));
  scale[0] = std::sqrt((second ? 0.25 : 1) / static_cast<double>(n));
  return from_doubles({n}, scale, like.device(), like.dtype());
}

Value type_2(const Value& x) {
  const std::int64_t n = x.shape().back();
  const Value turned = complex_mul(rfft(even_then_odd(x, false)), quarter_turns(n, -1, x)) * 2.0;
  const Value rest = narrow(imag(turned), -1, 1, n - n / 2 - 1);
  return cat(Values{real(turned), neg(flip(rest, {x.rank() - 1}))}, -1);
}

Value type_3(const Value& y) {
  const std::int64_t n = y.shape().back();
  Dims before = Dims::filled(y.rank(), 0), after = before;
  before[y.rank() - 1] = 1;
  const Value mirrored = narrow(pad(flip(y, {y.rank() - 1}), before, after), -1, 0, n / 2 + 1);  // 0, y[n - 1], ...
  const Value turned = complex_mul(complex(narrow(y, -1, 0, n / 2 + 1), neg(mirrored)), quarter_turns(n, 1, y));
  return even_then_odd(irfft(turned, {.n = n, .norm = FftNorm::Forward}), true);
}

/// dct, or its inverse, which is the other type divided by 2n.
Value cosine(std::string_view function, const Value& operand, const DctOptions& options, bool inverse) {
  require<ArgumentError>(options.type == 2 || options.type == 3, function, ": there are types 2 and 3, got ",
                         options.type);
  Value x = as_floats(function, operand);
  const int dim = wrap_dim(function, options.dim, x.rank());
  const std::int64_t n = x.shape()[dim];
  require<ShapeError>(n >= 1, function, ": ", operand, " has no elements along dimension ", options.dim);
  const DType dtype = x.dtype();
  if (size_of(dtype) == 2) x = cast(x, DType::F32);  // several steps, rounded once
  x = transpose(x, dim, -1);
  const bool second = (options.type == 2) != inverse;
  if (options.ortho) {
    const Value scale = ortho_scale(n, second, x);
    x = second ? type_2(x) * scale : type_3(x * scale);
  } else {
    x = second ? type_2(x) : type_3(x);
    if (inverse) x = x / (2.0 * static_cast<double>(n));
  }
  return cast(transpose(x, dim, -1), dtype);
}

}  // namespace

Value dct(const Value& x, const DctOptions& options) { return cosine("dct", x, options, false); }
Value idct(const Value& x, const DctOptions& options) { return cosine("idct", x, options, true); }

}  // namespace kiln
