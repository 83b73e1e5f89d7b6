// Convolution and its two adjoints. The images of a batch, or the rows of an image, are shared out to the threads.
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/conv/conv.hpp"
#include "kiln/backend/cpu/conv/depthwise.hpp"
#include "kiln/backend/cpu/conv/direct.hpp"
#include "kiln/backend/cpu/conv/weight_sum.hpp"
#include "kiln/backend/cpu/conv/windows.hpp"
#include "kiln/backend/cpu/onednn/conv_primitive.hpp"
#include "kiln/backend/cpu/onednn/engine.hpp"
#include "kiln/backend/cpu/onednn/layout.hpp"
#include "kiln/backend/cpu/onednn/onednn.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/ops/planned/epilogue.hpp"

namespace kiln::cpu::onednn {
namespace {

using std::int64_t;

using conv::Pass;

/// On float32, by whoever has the fastest loops.
template <class Op>
bool in_float32(const Op& op, Call call) {
  return simd::through_float32<Op>(op, call, [](const Op& o, Call c) -> bool { return run(o, c) || conv::run(o, c); });
}

/// oneDNN makes the whole gradient of a weight for each few images: a product of the windows of few pixels is quicker.
bool few_pixels(const Geometry& g) {
  return !g.pointwise() && g.batch * Geometry::product(g.result) <= g.out && conv::product_weight_fits(g, DType::F32);
}

/// Our own loops know float32, and with next to no channels, or with one or three axes of channels by themselves, or in
/// the gradient of a weight with few pixels, they are ahead of oneDNN's bfloat16, copies and all.
bool suits_float32(Pass pass, DType dtype, const Geometry& g, bool direct) {
  return dtype == DType::BF16 &&
         ((direct && g.in < 8) || (g.kernel.size() != 2 && conv::depthwise_is_ahead(pass, g, DType::F32)) ||
          (pass == Pass::Weight && few_pixels(g)));
}

/// Where image `i` begins, its row `row` of the first axis.
std::byte* at(const Array& array, int64_t i, int64_t row = 0) {
  return array.data + (i * array.strides[0] + row * array.strides[2]) * static_cast<int64_t>(size_of(array.dtype));
}

/// Are `rows` rows of x at a time, and then the rest, each made from some rows of y? They are where no rows lie between
/// the windows.
bool rows_make_sense(const Geometry& whole, int64_t rows) {
  if (whole.stride[0] > whole.reach(0)) return false;
  for (int64_t row = 0; row < whole.sizes[0]; row += rows) {
    const auto [begin, end] = whole.rows_over(row, std::min(whole.sizes[0], row + rows));
    if (begin >= end) return false;
  }
  return true;
}

/// How images, or rows of one, are given to the pieces of a call.
struct Cut {
  int64_t batch, images, rows, slabs;  // images of a piece, or the rows of a slab of one, and the slabs of one

  int64_t count() const { return divide_up(batch, images) * slabs; }
  int64_t image(int64_t piece) const { return piece / slabs * images; }
  int64_t row(int64_t piece) const { return piece % slabs * rows; }
};

/// The geometries of all pieces: slabs at the edges of an image have their own, and the last images.
std::vector<Geometry> kinds_of(const Cut& cut, FunctionRef<Geometry(int64_t piece)> part_of) {
  std::vector<Geometry> kinds;
  for (int64_t piece = 0; piece < cut.slabs; ++piece) kinds.push_back(part_of(piece));
  if (cut.batch % cut.images != 0) kinds.push_back(part_of(cut.count() - 1));
  return kinds;
}

using PrimitiveOf = FunctionRef<Primitive&(const Geometry& part)>;

/// Has oneDNN a primitive for each kind? Asked before anything is done.
bool all_have(const std::vector<Geometry>& kinds, PrimitiveOf primitive_of) {
  const OneThread one_thread;
  return std::ranges::all_of(kinds, [&](const Geometry& kind) { return static_cast<bool>(primitive_of(kind)); });
}

/// The weight in the order, or orders, that they want. Packed by all threads: if the first piece did so, the others would
/// fall asleep over it.
PackedWeight packed_weight(const Operand& plain, const std::vector<Geometry>& kinds, PrimitiveOf primitive_of) {
  PackedWeight weight(plain, kinds[0].groups);
  const OneThread one_thread;
  for (const Geometry& kind : kinds) weight.pack(primitive_of(kind).desc(1));
  return weight;
}

/// The convolution, its pieces given to `epilogue` where there is one; false then too where it has no pieces that could
/// be.
bool convolve(const op::Conv& op, Call call, const Epilogue* epilogue) {
  using Slot = op::Conv::Slot;
  const DType dtype = call.out[0].dtype();
  const Geometry whole = Geometry::of(op, call);
  if (!conv::takes(dtype) || whole.empty()) return false;
  if (goes_through_float32(dtype) ||
      suits_float32(Pass::Forward, dtype, whole, conv::direct_forward_fits(whole, DType::F32)))
    return !epilogue && in_float32(op, call);
  if (conv::is_ahead(Pass::Forward, whole, dtype) || (epilogue && !conv::worth_finishing(call.out[0]))) return false;

  const bool with_bias = call.in.size() > 2 && !call.in[Slot::bias].empty();
  const int64_t wanted = pieces(whole.batch * whole.cost());
  const bool by_rows = whole.batch < wanted && whole.has_rows();
  const int64_t images = by_rows ? 1 : divide_up(whole.batch, wanted);
  const int64_t rows = by_rows ? divide_up(whole.result[0], divide_up(wanted, whole.batch)) : whole.result[0];
  const Cut cut{whole.batch, images, rows, divide_up(whole.result[0], rows)};
  const auto part_of = [&](int64_t piece) {
    const int64_t image = cut.image(piece), row = cut.row(piece);
    return by_rows ? whole.rows(row, std::min(whole.result[0], row + rows))
                   : whole.images(std::min(images, whole.batch - image));
  };
  const auto primitive_of = [&](const Geometry& part) -> Primitive& { return conv_primitive(part, dtype, with_bias); };
  const std::vector<Geometry> kinds = kinds_of(cut, part_of);
  if (!all_have(kinds, primitive_of)) return !epilogue && dtype == DType::BF16 && in_float32(op, call);
  const Operand x = Operand::channels_last(call.in[Slot::x]), plain = Operand::contiguous(call.in[Slot::weight]);
  const Operand bias = with_bias ? Operand::contiguous(call.in[Slot::bias]) : Operand{};
  const conv::ConvResult y(call.out[0], epilogue);
  const PackedWeight weight = packed_weight(plain, kinds, primitive_of);
  parallel_for(cut.count(), 1, [&](int64_t begin, int64_t end) {
    const OneThread one_thread;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t image = cut.image(piece), row = cut.row(piece);
      const Geometry part = part_of(piece);
      const int64_t pixels = Geometry::product(part.result), row_pixels = pixels / part.result[0];
      Primitive& primitive = primitive_of(part);
      primitive.place(0, at(x.array, image, by_rows ? whole.first_row(row) : 0));
      primitive.place(1, weight.in(primitive.desc(1)));
      if (with_bias) primitive.place(3, bias.array.data);
      y.piece((image * whole.result[0] + row) * row_pixels * whole.out, part.batch * pixels * whole.out,
              [&](std::byte* to) {
                primitive.place(2, to);
                primitive.execute();
              });
    }
  });
  return true;
}

}  // namespace

bool run(const op::Conv& op, Call call) { return convolve(op, call, nullptr); }

bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue) {
  const auto* conv = std::get_if<op::Conv>(&op.product);
  return conv && convolve(*conv, call, &epilogue);
}

bool run(const op::ConvTranspose& op, Call call) {
  using Slot = op::ConvTranspose::Slot;
  const DType dtype = call.out[0].dtype();
  const Geometry whole = Geometry::of(op, call);
  if (!conv::takes(dtype) || whole.empty()) return false;
  if (goes_through_float32(dtype) || suits_float32(Pass::Data, dtype, whole, conv::direct_data_fits(whole, DType::F32)))
    return in_float32(op, call);
  if (conv::is_ahead(Pass::Data, whole, dtype) ||
      conv::depthwise_planes_fit(Pass::Data, whole, dtype, call.in[Slot::y]))
    return false;

  const int64_t wanted = pieces(whole.batch * whole.cost());
  const int64_t rows = divide_up(whole.sizes[0], divide_up(wanted, whole.batch)),
                slabs = divide_up(whole.sizes[0], rows);
  const bool by_rows = slabs > 1 && rows_make_sense(whole, rows);
  const Cut cut{whole.batch, by_rows ? 1 : divide_up(whole.batch, wanted), rows, by_rows ? slabs : 1};
  const auto part_of = [&](int64_t piece) {
    const int64_t image = cut.image(piece), row = cut.row(piece);
    return by_rows ? whole.rows_of_x(row, std::min(whole.sizes[0], row + rows))
                   : whole.images(std::min(cut.images, whole.batch - image));
  };
  const auto primitive_of = [&](const Geometry& part) -> Primitive& { return conv_data_primitive(part, dtype); };
  const std::vector<Geometry> kinds = kinds_of(cut, part_of);
  if (!all_have(kinds, primitive_of)) return dtype == DType::BF16 && in_float32(op, call);
  const Operand y = Operand::channels_last(call.in[Slot::y]), plain = Operand::contiguous(call.in[Slot::weight]);
  const Array x = allocate(call.out[0], channels_last_strides(call.out[0].shape()));
  const PackedWeight weight = packed_weight(plain, kinds, primitive_of);
  parallel_for(cut.count(), 1, [&](int64_t begin, int64_t end) {
    const OneThread one_thread;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t image = cut.image(piece), row = cut.row(piece);
      const int64_t last = std::min(whole.sizes[0], row + rows);
      Primitive& primitive = primitive_of(part_of(piece));
      primitive.place(0, at(y.array, image, by_rows ? whole.rows_over(row, last).begin : 0));
      primitive.place(1, weight.in(primitive.desc(1)));
      primitive.place(2, at(x, image, row));
      primitive.execute();
    }
  });
  return true;
}

bool run(const op::ConvWeightGrad& op, Call call) {
  using Slot = op::ConvWeightGrad::Slot;
  const DType dtype = call.out[0].dtype();
  const Geometry whole = Geometry::of(op, call);
  if (!conv::takes(dtype) || whole.empty()) return false;
  if (goes_through_float32(dtype) ||
      suits_float32(Pass::Weight, dtype, whole, conv::direct_weight_fits(whole, DType::F32)))
    return in_float32(op, call);
  if (conv::is_ahead(Pass::Weight, whole, dtype) ||
      conv::depthwise_planes_fit(Pass::Weight, whole, dtype, call.in[Slot::x]))
    return false;

  const conv::WeightParts parts(whole, call.out[0], true);
  std::vector<Geometry> kinds;
  for (int64_t i = 0; i < parts.count(); ++i) kinds.push_back(parts.part(i));
  if (!all_have(kinds, [&](const Geometry& part) -> Primitive& { return conv_weight_primitive(part, dtype); }))
    return dtype == DType::BF16 && in_float32(op, call);
  const Operand x = Operand::channels_last(call.in[Slot::x]), y = Operand::channels_last(call.in[Slot::y]);
  const Shape& shape = call.out[0].shape();
  conv::sum_of_parts(parts, call.out[0], [&](int64_t i, float* sums) {
    const OneThread one_thread;
    Primitive& primitive = conv_weight_primitive(parts.part(i), dtype);
    const MemoryDesc order = primitive.desc(2);
    const Memory block(order.get_size());
    primitive.place(0, parts.x_of(x.array, i).data);
    primitive.place(1, parts.y_of(y.array, i).data);
    primitive.place(2, block.bytes());
    primitive.execute();
    const Array plain{reinterpret_cast<std::byte*>(sums), DType::F32, shape, contiguous_strides(shape)};
    reorder_weight(order, block.bytes(), plain_weight(plain, whole.groups), plain.data);
  });
  return true;
}

}  // namespace kiln::cpu::onednn
