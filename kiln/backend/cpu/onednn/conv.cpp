// Convolution and its two adjoints. The images of a batch, or the rows of an image, are distributed over the threads.
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/conv/result.hpp"
#include "kiln/backend/cpu/conv/weight_sum.hpp"
#include "kiln/backend/cpu/onednn/conv_primitive.hpp"
#include "kiln/backend/cpu/onednn/engine.hpp"
#include "kiln/backend/cpu/onednn/layout.hpp"
#include "kiln/backend/cpu/onednn/onednn.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::onednn {
namespace {

using std::int64_t;

using conv::Pass;

/// Returns the start of image `i`, at its row `row` of the first axis.
std::byte* at(const Array& array, int64_t i, int64_t row = 0) {
  return array.data + (i * array.strides[0] + row * array.strides[2]) * static_cast<int64_t>(size_of(array.dtype));
}

/// Whether x can be computed in slabs of `rows` rows, each from some rows of y. This requires that no rows lie between
/// the windows.
bool rows_make_sense(const Geometry& whole, int64_t rows) {
  if (whole.stride[0] > whole.reach(0)) return false;
  for (int64_t row = 0; row < whole.sizes[0]; row += rows) {
    const auto [begin, end] = whole.rows_over(row, std::min(whole.sizes[0], row + rows));
    if (begin >= end) return false;
  }
  return true;
}

/// How images, or rows of an image, are divided into pieces: rows of y, or rows of x for its adjoint.
struct ImageSplit {
  Geometry whole;
  int64_t images, rows, slabs;  // images of a piece, or the rows of a slab and the slabs of an image
  bool by_rows, of_x;

  static ImageSplit forward(const Geometry& g) {
    const int64_t wanted = pieces(g.batch * g.cost());
    const bool by_rows = g.batch < wanted && g.has_rows();
    const int64_t rows = by_rows ? divide_up(g.result[0], divide_up(wanted, g.batch)) : g.result[0];
    return {g, by_rows ? 1 : divide_up(g.batch, wanted), rows, divide_up(g.result[0], rows), by_rows, false};
  }
  static ImageSplit data(const Geometry& g) {
    const int64_t wanted = pieces(g.batch * g.cost());
    const int64_t rows = divide_up(g.sizes[0], divide_up(wanted, g.batch)), slabs = divide_up(g.sizes[0], rows);
    const bool by_rows = slabs > 1 && rows_make_sense(g, rows);
    return {g, by_rows ? 1 : divide_up(g.batch, wanted), rows, by_rows ? slabs : 1, by_rows, true};
  }

  int64_t count() const { return divide_up(whole.batch, images) * slabs; }
  int64_t image(int64_t piece) const { return piece / slabs * images; }
  int64_t row(int64_t piece) const { return piece % slabs * rows; }
  int64_t last_row(int64_t piece) const { return std::min((of_x ? whole.sizes : whole.result)[0], row(piece) + rows); }
  Geometry part(int64_t piece) const {
    if (!by_rows) return whole.images(std::min(images, whole.batch - image(piece)));
    return of_x ? whole.rows_of_x(row(piece), last_row(piece)) : whole.rows(row(piece), last_row(piece));
  }
  /// The geometries of all pieces: slabs at the edges of an image have their own, and so do the last images.
  std::vector<Geometry> kinds() const {
    std::vector<Geometry> kinds;
    for (int64_t piece = 0; piece < slabs; ++piece) kinds.push_back(part(piece));
    if (whole.batch % images != 0) kinds.push_back(part(count() - 1));
    return kinds;
  }
};

using PrimitiveOf = FunctionRef<Primitive&(const Geometry& part)>;

/// The weight in the order, or orders, that the pieces need. All threads pack it: if the first piece packed it, the
/// other threads would fall asleep meanwhile.
PackedWeight packed_weight(const ConvOperand& plain, const std::vector<Geometry>& kinds, PrimitiveOf primitive_of) {
  PackedWeight weight(plain, kinds[0].groups);
  const OneThread one_thread;
  for (const Geometry& kind : kinds) weight.pack(primitive_of(kind).desc(1));
  return weight;
}

}  // namespace

bool has_conv(Pass pass, const Geometry& g, DType dtype, bool with_bias) {
  if (dtype != DType::F32 && !(dtype == DType::BF16 && has_bf16())) return false;
  const OneThread one_thread;
  const auto all_have = [](const std::vector<Geometry>& kinds, PrimitiveOf primitive_of) {
    return std::ranges::all_of(kinds, [&](const Geometry& kind) { return static_cast<bool>(primitive_of(kind)); });
  };
  switch (pass) {
    case Pass::Forward:
      return all_have(ImageSplit::forward(g).kinds(),
                      [&](const Geometry& kind) -> Primitive& { return conv_primitive(kind, dtype, with_bias); });
    case Pass::Data:
      return all_have(ImageSplit::data(g).kinds(),
                      [&](const Geometry& kind) -> Primitive& { return conv_data_primitive(kind, dtype); });
    case Pass::Weight: break;
  }
  const conv::WeightParts parts(g, true);
  for (int64_t i = 0; i < parts.count(); ++i)
    if (!conv_weight_primitive(parts.part(i), dtype)) return false;
  return true;
}

void convolve(const Geometry& g, const ConvOperand& x, const ConvOperand& plain, const ConvOperand& bias, Value& result,
              const Epilogue* epilogue) {
  const DType dtype = result.dtype();
  const bool with_bias = !bias.value.empty();
  const ImageSplit cut = ImageSplit::forward(g);
  const auto primitive_of = [&](const Geometry& part) -> Primitive& { return conv_primitive(part, dtype, with_bias); };
  const conv::ConvResult y(result, epilogue);
  const PackedWeight weight = packed_weight(plain, cut.kinds(), primitive_of);
  parallel_for(cut.count(), 1, [&](int64_t begin, int64_t end) {
    const OneThread one_thread;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t image = cut.image(piece), row = cut.row(piece);
      const Geometry part = cut.part(piece);
      const int64_t pixels = Geometry::product(part.result), row_pixels = pixels / part.result[0];
      Primitive& primitive = primitive_of(part);
      primitive.place(0, at(x.array, image, cut.by_rows ? g.first_row(row) : 0));
      primitive.place(1, weight.in(primitive.desc(1)));
      if (with_bias) primitive.place(3, bias.array.data);
      y.piece((image * g.result[0] + row) * row_pixels * g.out, part.batch * pixels * g.out, [&](std::byte* to) {
        primitive.place(2, to);
        primitive.execute();
      });
    }
  });
}

void convolve_data(const Geometry& g, const ConvOperand& y, const ConvOperand& plain, Value& result) {
  const DType dtype = result.dtype();
  const ImageSplit cut = ImageSplit::data(g);
  const auto primitive_of = [&](const Geometry& part) -> Primitive& { return conv_data_primitive(part, dtype); };
  const Array x = allocate(result, channels_last_strides(result.shape()));
  const PackedWeight weight = packed_weight(plain, cut.kinds(), primitive_of);
  parallel_for(cut.count(), 1, [&](int64_t begin, int64_t end) {
    const OneThread one_thread;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t image = cut.image(piece), row = cut.row(piece);
      Primitive& primitive = primitive_of(cut.part(piece));
      primitive.place(0, at(y.array, image, cut.by_rows ? g.rows_over(row, cut.last_row(piece)).begin : 0));
      primitive.place(1, weight.in(primitive.desc(1)));
      primitive.place(2, at(x, image, row));
      primitive.execute();
    }
  });
}

void convolve_weight(const Geometry& g, const ConvOperand& x, const ConvOperand& y, Value& result) {
  const DType dtype = result.dtype();
  const conv::WeightParts parts(g, true);
  const Shape& shape = result.shape();
  conv::sum_of_parts(parts, result, [&](int64_t i, float* sums) {
    const OneThread one_thread;
    Primitive& primitive = conv_weight_primitive(parts.part(i), dtype);
    const MemoryDesc order = primitive.desc(2);
    const Memory block(order.get_size());
    primitive.place(0, parts.x_of(x.array, i).data);
    primitive.place(1, parts.y_of(y.array, i).data);
    primitive.place(2, block.bytes());
    primitive.execute();
    const Array plain{reinterpret_cast<std::byte*>(sums), DType::F32, shape, contiguous_strides(shape)};
    reorder_weight(order, block.bytes(), plain_weight(plain, g.groups), plain.data);
  });
}

}  // namespace kiln::cpu::onednn
