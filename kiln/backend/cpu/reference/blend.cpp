#include "kiln/ops/spatial/blend_ops.hpp"

#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"

namespace kiln::cpu::reference {
namespace {

/// Visits the products of a blend of x [batch, channels, size] to y [batch, channels, points] by index and weight
/// [batch, points, taps]; y ascends slowest.
class Blending {
 public:
  Blending(const Shape& x, const Value& index) : x_(x), shape_(index.shape()), index_(read(index)) {}

  template <class F>
  void operator()(F&& f) const {
    const std::int64_t channels = x_[1], size = x_[2], points = shape_[1], taps = shape_[2];
    for (std::int64_t n = 0; n < x_[0]; ++n)
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t p = 0; p < points; ++p)
          for (std::int64_t t = 0; t < taps; ++t) {
            const std::int64_t w = (n * points + p) * taps + t, at = index_[w];
            if (at >= 0 && at < size) f(Places{(n * channels + c) * size + at, w, (n * channels + c) * points + p});
          }
  }

 private:
  Shape x_, shape_;
  RowMajor<std::int64_t> index_;
};

}  // namespace

template <>
void run(const op::Blend&, Call call) {
  using Slot = op::Blend::Slot;
  const Value& x = call.in[Slot::x];
  sum_products<kWeight, kX, kY>(call, call.in[Slot::weight], x, Blending(x.shape(), call.in[Slot::index]));
}

template <>
void run(const op::BlendTranspose&, Call call) {
  using Slot = op::BlendTranspose::Slot;
  sum_products<kWeight, kY, kX>(call, call.in[Slot::weight], call.in[Slot::y],
                                Blending(call.out[0].shape(), call.in[Slot::index]));
}

template <>
void run(const op::BlendWeightGrad&, Call call) {
  using Slot = op::BlendWeightGrad::Slot;
  const Value& x = call.in[Slot::x];
  sum_products<kX, kY, kWeight>(call, x, call.in[Slot::y], Blending(x.shape(), call.in[Slot::index]));
}

}  // namespace kiln::cpu::reference
