// Fourier and cosine transforms against the sums that define them.
#include "kiln/ops/signal/signal.hpp"

#include <cmath>
#include <numbers>

#include "tests/ops/harness.hpp"
#include "tests/ops/rows/dft.hpp"

namespace kiln::test {
namespace {

double factor(FftNorm norm, bool inverse, std::int64_t n) {
  if (norm == FftNorm::Ortho) return 1 / std::sqrt(static_cast<double>(n));
  return (norm == FftNorm::Backward) == inverse ? 1 / static_cast<double>(n) : 1;
}

/// Replaces each line of x along `dim` (pairs are not counted) by f(line); the results' last dimension are pairs where
/// `pairs`.
Array each_line(const Array& x, bool from_pairs, int dim, bool to_pairs, const std::function<Line(const Line&)>& f) {
  Shape outer = x.shape;
  if (from_pairs) outer.pop_back();
  const std::int64_t length = outer[dim];
  outer[dim] = 1;
  Array z;
  each_index(outer, [&](const Dims& index) {
    Line line;
    for (std::int64_t j = 0; j < length; ++j) {
      Dims at = index;
      at[dim] = j;
      Dims re = at, im = at;
      if (from_pairs) re.push_back(0), im.push_back(1);
      line.emplace_back(x(re), from_pairs ? x(im) : 0.0);
    }
    const Line result = f(line);
    if (z.v.empty()) {
      Shape shape = outer;
      shape[dim] = static_cast<std::int64_t>(result.size());
      if (to_pairs) shape.push_back(2);
      z = Array(shape);
    }
    for (std::size_t k = 0; k < result.size(); ++k) {
      Dims at = index;
      at[dim] = static_cast<std::int64_t>(k);
      Dims re = at, im = at;
      if (to_pairs) re.push_back(0), im.push_back(1);
      z(re) = result[k].real();
      if (to_pairs) z(im) = result[k].imag();
    }
  });
  return z;
}

enum class Kind { Complex, ComplexInverse, Real, RealInverse };

Array transformed(Kind kind, const Array& x, std::int64_t n, int dim, FftNorm norm) {
  const bool inverse = kind == Kind::ComplexInverse || kind == Kind::RealInverse;
  return each_line(x, kind != Kind::Real, dim, kind != Kind::RealInverse, [&](Line line) {
    if (kind == Kind::RealInverse) {
      // The half that is missing is the mirror image of the other.
      line.resize(static_cast<std::size_t>(n / 2 + 1));
      line[0] = line[0].real();
      if (n % 2 == 0) line.back() = line.back().real();
      for (std::int64_t k = n / 2 + 1; k < n; ++k) line.push_back(std::conj(line[static_cast<std::size_t>(n - k)]));
    }
    Line z = transform(line, n, inverse ? 1 : -1);
    if (kind == Kind::Real) z.resize(static_cast<std::size_t>(n / 2 + 1));
    for (Complex& element : z) element *= factor(norm, inverse, n);
    return z;
  });
}

OpCase fft_row(std::string name, Kind kind, const Shape& shape, const FftOptions& options = {}, bool gradient = true) {
  const int rank = shape.size() - (kind == Kind::Real ? 0 : 1), dim = (options.dim + rank) % rank;
  const std::int64_t n = options.n.value_or(kind == Kind::RealInverse ? 2 * (shape[dim] - 1) : shape[dim]);
  return {.name = std::move(name),
          .operands = {{shape}},
          .function =
              [=](const Values& in) {
                switch (kind) {
                  case Kind::Complex: return Values{fft(in[0], options)};
                  case Kind::ComplexInverse: return Values{ifft(in[0], options)};
                  case Kind::Real: return Values{rfft(in[0], options)};
                  case Kind::RealInverse: return Values{irfft(in[0], options)};
                }
                return Values{};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                return std::vector<Array>{transformed(kind, in[0], n, dim, options.norm)};
              },
          .tolerance = 4,
          .gradient = gradient};
}

/// Over `dims`, the last of which is halved.
OpCase grid_row(std::string name, Kind kind, const Shape& shape, const Dims& dims, const Shape& sizes,
                std::function<Value(const Value&)> function, FftNorm norm = FftNorm::Backward) {
  return {.name = std::move(name),
          .operands = {{shape}},
          .function = [=](const Values& in) { return Values{function(in[0])}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                const bool inverse = kind == Kind::ComplexInverse || kind == Kind::RealInverse;
                const Kind others = inverse ? Kind::ComplexInverse : Kind::Complex;
                Array z = in[0];
                const int last = dims.size() - 1;
                if (kind == Kind::Real) z = transformed(kind, z, sizes[last], static_cast<int>(dims[last]), norm);
                for (int i = 0; i <= last; ++i)
                  if (kind == Kind::Complex || kind == Kind::ComplexInverse || i < last)
                    z = transformed(others, z, sizes[i], static_cast<int>(dims[i]), norm);
                if (kind == Kind::RealInverse)
                  z = transformed(kind, z, sizes[last], static_cast<int>(dims[last]), norm);
                return std::vector<Array>{z};
              },
          .tolerance = 4};
}

OpCase dct_row(std::string name, const Shape& shape, const DctOptions& options, bool inverse = false,
               bool gradient = true) {
  const int dim = (options.dim + shape.size()) % shape.size();
  const auto n = static_cast<double>(shape[dim]);
  return {.name = std::move(name),
          .operands = {{shape}},
          .function = [=](const Values& in) { return Values{inverse ? idct(in[0], options) : dct(in[0], options)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                return std::vector<Array>{each_line(in[0], false, dim, false, [&](const Line& x) {
                  Line z(x.size());
                  const bool second = (options.type == 2) != inverse;
                  for (std::size_t k = 0; k < x.size(); ++k)
                    for (std::size_t j = 0; j < x.size(); ++j) {
                      const std::size_t frequency = second ? k : j, place = second ? j : k;
                      const double angle = std::numbers::pi * static_cast<double>(frequency) *
                                           (2 * static_cast<double>(place) + 1) / (2 * n);
                      double weight = second || j > 0 ? 2 : 1;
                      if (options.ortho) weight = frequency == 0 ? std::sqrt(1 / n) : std::sqrt(2 / n);
                      else if (inverse) weight /= 2 * n;
                      z[k] += x[j] * weight * std::cos(angle);
                    }
                  return z;
                })};
              },
          .tolerance = 4,
          .gradient = gradient};
}

// ---- pairs ---------------------------------------------------------------------------------------------------------

OpCase pair_row(std::string name, std::function<Values(const Values&)> function,
                std::function<std::vector<Complex>(Complex, Complex)> of, bool to_pairs) {
  return {.name = std::move(name),
          .operands = {{{3, 2}}, {{3, 2}}},
          .function = std::move(function),
          .meaning =
              [=](const std::vector<Array>& in) {
                Array z(to_pairs ? Shape{3, 2} : Shape{3});
                for (std::int64_t i = 0; i < 3; ++i) {
                  const Complex result = of({in[0]({i, 0}), in[0]({i, 1})}, {in[1]({i, 0}), in[1]({i, 1})})[0];
                  if (to_pairs) z({i, 0}) = result.real(), z({i, 1}) = result.imag();
                  else z({i}) = result.real();
                }
                return std::vector<Array>{z};
              },
          .tolerance = 4};
}

Array rolled(const Array& x, std::int64_t by, int dim) {
  Array z(x.shape);
  each_index(x.shape, [&](const Dims& i) {
    Dims to = i;
    to[dim] = (i[dim] + by) % x.shape[dim];
    z(to) = x(i);
  });
  return z;
}

OpCase shift_row(std::string name, const Shape& shape, bool inverse) {
  return {.name = std::move(name),
          .operands = {{shape}},
          .function =
              [=](const Values& in) { return Values{inverse ? ifftshift(in[0], {0, 1}) : fftshift(in[0], {0, 1})}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array z = in[0];
                for (const int dim : {0, 1}) z = rolled(z, (shape[dim] + (inverse ? 1 : 0)) / 2, dim);
                return std::vector<Array>{z};
              }};
}

std::vector<OpCase> signal_rows() {
  std::vector<OpCase> rows;
  // Every kind of length: powers, products, small primes, and primes that need a convolution.
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 30, 31, 37})
    for (const auto& [kind, name] : {std::pair{Kind::Complex, "fft"},
                                     {Kind::ComplexInverse, "ifft"},
                                     {Kind::Real, "rfft"},
                                     {Kind::RealInverse, "irfft"}}) {
      const std::int64_t length = kind == Kind::RealInverse ? n / 2 + 1 : n;
      const Shape shape = kind == Kind::Real ? Shape{2, length} : Shape{2, length, 2};
      rows.push_back(fft_row(text(name, "_of_", n), kind, shape, {.n = n}, n <= 16));
    }
  // Blocks of whole lines, whose gradients count some elements of a spectrum twice.
  for (const std::int64_t n : {15, 16}) {
    rows.push_back(fft_row(text("rfft_of_", n, "_in_17_lines"), Kind::Real, {17, n}, {.n = n}));
    rows.push_back(fft_row(text("irfft_of_", n, "_in_17_lines"), Kind::RealInverse, {17, n / 2 + 1, 2}, {.n = n}));
  }
  // Lines side by side, and long lines alone.
  for (const std::int64_t n : {64, 210, 256, 257, 509, 512, 729, 1000, 1025, 1050, 1187, 2048})
    for (const auto& [kind, name] :
         {std::pair{Kind::Complex, "fft"}, {Kind::Real, "rfft"}, {Kind::RealInverse, "irfft"}})
      for (const std::int64_t lines : {1, 19}) {
        if (lines > 1 && n > 600) continue;
        const std::int64_t length = kind == Kind::RealInverse ? n / 2 + 1 : n;
        const Shape shape = kind == Kind::Real ? Shape{lines, length} : Shape{lines, length, 2};
        rows.push_back(fft_row(text(name, "_of_", n, "_in_", lines, "_lines"), kind, shape,
                               {.n = n, .norm = FftNorm::Ortho}, false));
      }
  for (const FftNorm norm : {FftNorm::Backward, FftNorm::Ortho, FftNorm::Forward}) {
    const int which = static_cast<int>(norm);
    rows.push_back(fft_row(text("fft_norm_", which), Kind::Complex, {6, 2}, {.norm = norm}));
    rows.push_back(fft_row(text("ifft_norm_", which), Kind::ComplexInverse, {6, 2}, {.norm = norm}));
    rows.push_back(fft_row(text("rfft_norm_", which), Kind::Real, {5}, {.norm = norm}));
    rows.push_back(fft_row(text("irfft_norm_", which), Kind::RealInverse, {4, 2}, {.norm = norm}));
  }
  const auto add = [&](OpCase row) { rows.push_back(std::move(row)); };
  add(fft_row("fft_first_dim", Kind::Complex, {6, 3, 2}, {.dim = 0}));
  add(fft_row("fft_middle_dim", Kind::Complex, {2, 5, 3, 2}, {.dim = -2}));
  add(fft_row("rfft_first_dim", Kind::Real, {6, 3}, {.dim = 0}));
  add(fft_row("rfft_middle_dim", Kind::Real, {2, 5, 3}, {.dim = 1}));
  add(fft_row("irfft_first_dim", Kind::RealInverse, {4, 3, 2}, {.dim = 0}));
  add(fft_row("irfft_middle_dim", Kind::RealInverse, {2, 3, 3, 2}, {.n = 5, .dim = 1}));
  add(fft_row("fft_cropped", Kind::Complex, {2, 9, 2}, {.n = 6}));
  add(fft_row("fft_filled_up", Kind::Complex, {2, 5, 2}, {.n = 8}));
  add(fft_row("rfft_cropped", Kind::Real, {2, 9}, {.n = 7}));
  add(fft_row("rfft_filled_up", Kind::Real, {2, 5}, {.n = 8}));
  add(fft_row("irfft_cropped", Kind::RealInverse, {2, 6, 2}, {.n = 7}));
  add(fft_row("irfft_filled_up", Kind::RealInverse, {2, 3, 2}, {.n = 8}));
  add(fft_row("irfft_default_length", Kind::RealInverse, {2, 4, 2}));

  add(grid_row("fft2", Kind::Complex, {2, 3, 4, 2}, {1, 2}, {3, 4}, [](const Value& x) { return fft2(x); }));
  add(grid_row("ifft2", Kind::ComplexInverse, {2, 3, 4, 2}, {1, 2}, {3, 4}, [](const Value& x) { return ifft2(x); }));
  add(grid_row("rfft2", Kind::Real, {2, 3, 5}, {1, 2}, {3, 5}, [](const Value& x) { return rfft2(x); }));
  add(grid_row("rfft2_other_dims", Kind::Real, {4, 2, 3}, {2, 0}, {3, 4},
               [](const Value& x) { return rfft2(x, {.dims = {-1, 0}}); }));
  add(grid_row("irfft2", Kind::RealInverse, {2, 3, 3, 2}, {1, 2}, {3, 4}, [](const Value& x) { return irfft2(x); }));
  add(grid_row("irfft2_of_odd_size", Kind::RealInverse, {2, 3, 3, 2}, {1, 2}, {3, 5},
               [](const Value& x) { return irfft2(x, {.sizes = {3, 5}}); }));
  add(grid_row("fftn", Kind::Complex, {2, 3, 4, 2}, {0, 1, 2}, {2, 3, 4}, [](const Value& x) { return fftn(x); }));
  add(grid_row(
      "fftn_of_sizes", Kind::Complex, {2, 3, 4, 2}, {1, 2}, {5, 3},
      [](const Value& x) { return fftn(x, {.sizes = {5, 3}, .norm = FftNorm::Forward}); }, FftNorm::Forward));
  add(grid_row(
      "ifftn", Kind::ComplexInverse, {2, 3, 2, 2}, {0, 1, 2}, {2, 3, 2},
      [](const Value& x) { return ifftn(x, {.norm = FftNorm::Ortho}); }, FftNorm::Ortho));
  add(grid_row("rfftn", Kind::Real, {2, 3, 4}, {0, 1, 2}, {2, 3, 4}, [](const Value& x) { return rfftn(x); }));
  add(grid_row("irfftn", Kind::RealInverse, {2, 3, 3, 2}, {0, 1, 2}, {2, 3, 4},
               [](const Value& x) { return irfftn(x); }));

  add(shift_row("fftshift", {4, 5}, false));
  add(shift_row("ifftshift", {4, 5}, true));
  add({.name = "hilbert",
       .operands = {{{2, 7}}},
       .function = [](const Values& in) { return Values{hilbert(in[0])}; },
       .meaning =
           [](const std::vector<Array>& in) {
             return std::vector<Array>{each_line(in[0], false, 1, true, [](const Line& x) {
               const auto n = static_cast<std::int64_t>(x.size());
               Line z = transform(x, n, -1);
               for (std::int64_t k = 0; k < n; ++k)
                 z[static_cast<std::size_t>(k)] *= (k == 0 || 2 * k == n ? 1.0
                                                    : 2 * k < n          ? 2.0
                                                                         : 0.0) /
                                                   static_cast<double>(n);
               return transform(z, n, 1);
             })};
           },
       .tolerance = 4});

  for (const std::int64_t n : {1, 2, 5, 8})
    for (const int type : {2, 3})
      for (const bool ortho : {false, true}) {
        const std::string name = text("dct_", type, "_of_", n, ortho ? "_ortho" : "");
        add(dct_row(name, {2, n}, {.type = type, .ortho = ortho}));
        add(dct_row(text("i", name), {2, n}, {.type = type, .ortho = ortho}, true));
      }
  add(dct_row("dct_first_dim", {6, 2, 3}, {.dim = 0}));
  add(dct_row("dct_long", {3, 300}, {}, false, false));

  using C = Complex;
  add(pair_row(
      "complex_mul", [](const Values& in) { return Values{complex_mul(in[0], in[1])}; },
      [](C y, C z) { return Line{y * z}; }, true));
  add(pair_row(
      "conj", [](const Values& in) { return Values{conj(in[0]) + in[1]}; },
      [](C y, C z) { return Line{std::conj(y) + z}; }, true));
  add(pair_row(
      "complex_abs", [](const Values& in) { return Values{complex_abs(in[0]) * complex_abs(in[1])}; },
      [](C y, C z) { return Line{std::abs(y) * std::abs(z)}; }, false));
  add(pair_row(
      "angle", [](const Values& in) { return Values{angle(in[0]) * angle(in[1])}; },
      [](C y, C z) { return Line{std::arg(y) * std::arg(z)}; }, false));
  add(pair_row(
      "polar", [](const Values& in) { return Values{polar(real(in[0]), imag(in[1]))}; },
      [](C y, C z) { return Line{y.real() * C(std::cos(z.imag()), std::sin(z.imag()))}; }, true));
  add(pair_row(
      "complex", [](const Values& in) { return Values{complex(real(in[0]), imag(in[1]))}; },
      [](C y, C z) { return Line{C(y.real(), z.imag())}; }, true));
  return rows;
}

const Family kSignal(&signal_rows);

}  // namespace
}  // namespace kiln::test
