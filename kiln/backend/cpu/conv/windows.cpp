#include "kiln/backend/cpu/conv/algorithms.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/matmul/matmul.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::conv {
namespace {

using std::int64_t;

/// Returns elements as a matrix, without a copy.
Value matrix(const ConvOperand& operand, const Shape& shape, const Dims& strides) {
  Value view(make_ref<Node>(kiln::Desc{shape, operand.array.dtype}, operand.value.device()));
  alias(view, operand.value, strides, operand.value.node()->offset);
  return view;
}
/// Returns the pixels as a matrix [pixels, channels].
Value pixels_of(const ConvOperand& image, int64_t channels) {
  return matrix(image, {image.array.numel() / channels, channels}, {channels, 1});
}
Value transposed(const Value& matrix) {
  Value view(make_ref<Node>(kiln::Desc{Shape{matrix.dim(1), matrix.dim(0)}, matrix.dtype()}, matrix.device()));
  const Dims& strides = matrix.node()->strides;
  alias(view, matrix, {strides[1], strides[0]}, matrix.node()->offset);
  return view;
}

/// Returns a new matrix.
Value blank(const Shape& shape, const Value& like) {
  return Value(make_ref<Node>(kiln::Desc{shape, like.dtype()}, like.device()));
}
Value multiplied(const Value& a, const Value& b, const Shape& shape) {
  const Value in[] = {a, b};
  Value product = blank(shape, a);
  const bool is_made = matmul::run(op::Matmul(), {in, {&product, 1}});
  KILN_CHECK(is_made);
  return product;
}
Value multiplied(const Value& a, const Value& b) { return multiplied(a, b, {a.dim(0), b.dim(1)}); }
/// Multiplies a and b, and gives the product's memory to `result` with `strides`.
void give_product(const Value& a, const Value& b, Value& result, const Dims& strides) {
  alias(result, multiplied(a, b), strides, 0);
}

/// Calls f(TypeTag<T>{}) for float or double.
template <class F>
void visit(DType dtype, F&& f) {
  if (dtype == DType::F64) f(TypeTag<double>{});
  else f(TypeTag<float>{});
}

/// The windows of x, one row for each pixel of y.
class Windows {
 public:
  /// A row has either all taps of the first channel first, as in a weight, or all channels of the first tap, which is
  /// faster to read.
  enum Order { AsWeights, AsPixels };

  Windows(const Geometry& g, Order order)
      : batch_(g.batch),
        channels_(g.in),
        area_(Geometry::product(g.sizes)),
        pixels_(Geometry::product(g.result)),
        kernel_(Geometry::product(g.kernel)),
        channel_step_(order == AsWeights ? kernel_ : 1),
        place_step_(order == AsWeights ? 1 : channels_) {
    places_.reserve(static_cast<std::size_t>(pixels_ * kernel_));
    for (int64_t pixel = 0; pixel < pixels_; ++pixel)
      for (int64_t k = 0; k < kernel_; ++k) places_.push_back(g.pixel_under(pixel, k));
  }

  int64_t rows() const { return batch_ * pixels_; }
  int64_t width() const { return channels_ * kernel_; }

  template <class T>
  void gather(const T* x, T* windows) const {
    parallel_for(rows(), 8, [&](int64_t begin, int64_t end) {
      each_place(begin, end, [&](int64_t from, int64_t to) {
        if (from < 0) {
          for (int64_t c = 0; c < channels_; ++c) windows[to + c * channel_step_] = 0;
        } else if (channel_step_ == 1) {
          std::copy_n(x + from, channels_, windows + to);
        } else {
          for (int64_t c = 0; c < channels_; ++c) windows[to + c * channel_step_] = x[from + c];
        }
      });
    });
  }
  /// Adds each window to the elements that it came from.
  template <class T>
  void scatter(const T* windows, T* x) const {
    parallel_for(batch_ * area_, 32,
                 [&](int64_t begin, int64_t end) { std::fill(x + begin * channels_, x + end * channels_, T{0}); });
    const int64_t together = kernel_ == 1 ? 1 : pixels_;  // windows of larger kernels overlap others of their image
    parallel_for(rows() / together, std::max<int64_t>(1, 8 / together), [&](int64_t begin, int64_t end) {
      each_place(begin * together, end * together, [&](int64_t to, int64_t from) {
        if (to < 0) return;
        for (int64_t c = 0; c < channels_; ++c) x[to + c] += windows[from + c * channel_step_];
      });
    });
  }

 private:
  /// Calls f with the offset of a pixel's channels in x, or -1, and in the windows.
  template <class F>
  void each_place(int64_t begin, int64_t end, F&& f) const {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t k = 0; k < kernel_; ++k) {
        const int64_t place = places_[static_cast<std::size_t>(row % pixels_ * kernel_ + k)];
        f(place < 0 ? -1 : (row / pixels_ * area_ + place) * channels_, row * width() + k * place_step_);
      }
  }

  int64_t batch_, channels_, area_, pixels_, kernel_, channel_step_, place_step_;
  std::vector<int64_t> places_;  // for each pixel of y, the offset under each tap of the kernel
};

int64_t pixels(const Geometry& g) { return g.batch * Geometry::product(g.result); }

Value windows_of(const Geometry& g, const ConvOperand& x, Windows::Order order) {
  if (g.pointwise()) return pixels_of(x, g.in);
  const Windows windows(g, order);
  Value rows = blank({windows.rows(), windows.width()}, x.value);
  const Array made = allocate(rows, MemoryUse::Scratch);
  visit(made.dtype, [&]<class T>(TypeTag<T>) { windows.gather(x.array.as<const T>(), made.as<T>()); });
  return rows;
}
/// Returns the weight as a matrix [out, in * kernel].
Value rows_of(const Geometry& g, const ConvOperand& weight) {
  const int64_t width = g.in * Geometry::product(g.kernel);
  return matrix(weight, {g.out, width}, {width, 1});
}

}  // namespace

void windows_conv(const Geometry& g, const ConvOperand& x, const ConvOperand& weight, const Array* bias, Value& y) {
  give_product(windows_of(g, x, Windows::AsWeights), transposed(rows_of(g, weight)), y,
               channels_last_strides(y.shape()));
  if (!bias) return;
  visit(y.dtype(), [&]<class T>(TypeTag<T>) {
    T* const sums = read(y).as<T>();
    for (int64_t pixel = 0; pixel < pixels(g); ++pixel)
      for (int64_t o = 0; o < g.out; ++o) sums[pixel * g.out + o] += bias->as<T>()[o];
  });
}

void plane_sum(const Geometry& g, const Value& x, const ConvOperand& weight, Value& y) {
  const int64_t plane = Geometry::product(g.sizes);
  const Value planes = matrix({x, read(x)}, {g.batch, g.in, plane}, {g.in * plane, plane, 1});
  const Value sum = multiplied(matrix(weight, {g.batch, 1, g.in}, {0, 0, 1}), planes, {g.batch, 1, plane});
  alias(y, sum, contiguous_strides(y.shape()), 0);
}

void windows_conv_data(const Geometry& g, const ConvOperand& y, const ConvOperand& weight, Value& x) {
  const Dims strides = channels_last_strides(x.shape());
  if (g.pointwise()) return give_product(pixels_of(y, g.out), rows_of(g, weight), x, strides);
  const Value rows = multiplied(pixels_of(y, g.out), rows_of(g, weight));
  const Windows windows(g, Windows::AsWeights);
  const Array to = allocate(x, strides);
  visit(to.dtype, [&]<class T>(TypeTag<T>) { windows.scatter(read(rows).as<const T>(), to.as<T>()); });
}

void windows_conv_weight(const Geometry& g, const ConvOperand& x, const ConvOperand& y, Value& weight) {
  const Value channels = transposed(pixels_of(y, g.out));
  // Reorders the smaller of the two.
  if (g.pointwise() || pixels(g) <= g.out)
    return give_product(channels, windows_of(g, x, Windows::AsWeights), weight, contiguous_strides(weight.shape()));
  const Value product = multiplied(channels, windows_of(g, x, Windows::AsPixels));
  const int64_t kernel = Geometry::product(g.kernel);
  const Array to = allocate(weight);
  copy({read(product).data, to.dtype, {g.out, g.in, kernel}, {g.in * kernel, 1, g.in}},
       {to.data, to.dtype, {g.out, g.in, kernel}, {g.in * kernel, kernel, 1}});
}

}  // namespace kiln::cpu::conv
