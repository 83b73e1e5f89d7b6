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
#include "kiln/core/function_ref.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::onednn {
namespace {

using std::int64_t;

/// Returns the start of image `i`, at its row `row` of the first axis.
std::byte* at(const Array& array, int64_t i, int64_t row) {
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
  Pass pass;
  Geometry whole;
  bool by_rows;
  int64_t images, rows, slabs;  // images of a piece, or the rows of a slab and the slabs of an image

  ImageSplit(Pass pass, const Geometry& g) : pass(pass), whole(g) {
    const int64_t wanted = pieces(g.batch * g.cost());
    rows = divide_up(all_rows(), divide_up(wanted, g.batch));
    by_rows = of_x() ? divide_up(all_rows(), rows) > 1 && rows_make_sense(g, rows) : g.batch < wanted && g.has_rows();
    images = by_rows ? 1 : divide_up(g.batch, wanted);
    slabs = by_rows ? divide_up(all_rows(), rows) : 1;
  }

  bool of_x() const { return pass == Pass::Data; }
  int64_t all_rows() const { return (of_x() ? whole.sizes : whole.result)[0]; }
  int64_t count() const { return divide_up(whole.batch, images) * slabs; }
  int64_t image(int64_t piece) const { return piece / slabs * images; }
  int64_t row(int64_t piece) const { return piece % slabs * rows; }
  int64_t last_row(int64_t piece) const { return std::min(all_rows(), row(piece) + rows); }
  /// Returns the first row that the piece reads.
  int64_t first_read(int64_t piece) const {
    if (!by_rows) return 0;
    return of_x() ? whole.rows_over(row(piece), last_row(piece)).begin : whole.first_row(row(piece));
  }
  Geometry part(int64_t piece) const {
    if (!by_rows) return whole.images(std::min(images, whole.batch - image(piece)));
    return of_x() ? whole.rows_of_x(row(piece), last_row(piece)) : whole.rows(row(piece), last_row(piece));
  }
  /// The geometries of all pieces: slabs at the edges of an image have their own, and so do the last images.
  std::vector<Geometry> kinds() const {
    std::vector<Geometry> kinds;
    for (int64_t piece = 0; piece < slabs; ++piece) kinds.push_back(part(piece));
    if (whole.batch % images != 0) kinds.push_back(part(count() - 1));
    return kinds;
  }
};

/// Runs the pieces of a convolution, or of its adjoint in x, on several threads. run(primitive, piece) places the
/// remaining operands and executes the primitive.
void run_pieces(const ImageSplit& cut, const Array& from, const ConvOperand& plain, DType dtype, bool with_bias,
                FunctionRef<void(Primitive&, int64_t)> run) {
  // All threads pack the weight in the order, or orders, that the pieces need: if the first piece packed it, the other
  // threads would fall asleep meanwhile.
  PackedWeight weight(plain, cut.whole.groups);
  {
    const OneThread one_thread;
    for (const Geometry& kind : cut.kinds()) weight.pack(conv_primitive(cut.pass, kind, dtype, with_bias).desc(1));
  }
  parallel_for(cut.count(), 1, [&](int64_t begin, int64_t end) {
    const OneThread one_thread;
    for (int64_t piece = begin; piece < end; ++piece) {
      Primitive& primitive = conv_primitive(cut.pass, cut.part(piece), dtype, with_bias);
      primitive.place(0, at(from, cut.image(piece), cut.first_read(piece)));
      primitive.place(1, weight.in(primitive.desc(1)));
      run(primitive, piece);
    }
  });
}

}  // namespace

bool has_conv(Pass pass, const Geometry& g, DType dtype, bool with_bias) {
  if (dtype != DType::F32 && !(dtype == DType::BF16 && has_bf16())) return false;
  const OneThread one_thread;
  std::vector<Geometry> kinds;
  if (pass == Pass::Weight) {
    const conv::WeightParts parts(g, true);
    for (int64_t i = 0; i < parts.count(); ++i) kinds.push_back(parts.part(i));
  } else {
    kinds = ImageSplit(pass, g).kinds();
  }
  return std::ranges::all_of(
      kinds, [&](const Geometry& kind) { return static_cast<bool>(conv_primitive(pass, kind, dtype, with_bias)); });
}

void convolve(const Geometry& g, const ConvOperand& x, const ConvOperand& weight, const ConvOperand& bias,
              Value& result, const Epilogue* epilogue) {
  const bool with_bias = !bias.value.empty();
  const ImageSplit cut(Pass::Forward, g);
  const conv::ConvResult y(result, epilogue);
  const int64_t row_numbers = Geometry::product(g.result) / g.result[0] * g.out;
  run_pieces(cut, x.array, weight, result.dtype(), with_bias, [&](Primitive& primitive, int64_t piece) {
    const Geometry part = cut.part(piece);
    if (with_bias) primitive.place(3, bias.array.data);
    y.piece((cut.image(piece) * g.result[0] + cut.row(piece)) * row_numbers, part.batch * part.result[0] * row_numbers,
            [&](std::byte* to) {
              primitive.place(2, to);
              primitive.execute();
            });
  });
}

void convolve_data(const Geometry& g, const ConvOperand& y, const ConvOperand& weight, Value& result) {
  const ImageSplit cut(Pass::Data, g);
  const Array x = allocate(result, channels_last_strides(result.shape()));
  run_pieces(cut, y.array, weight, result.dtype(), false, [&](Primitive& primitive, int64_t piece) {
    primitive.place(2, at(x, cut.image(piece), cut.row(piece)));
    primitive.execute();
  });
}

void convolve_weight(const Geometry& g, const ConvOperand& x, const ConvOperand& y, Value& result) {
  const DType dtype = result.dtype();
  const conv::WeightParts parts(g, true);
  const Shape& shape = result.shape();
  conv::sum_of_parts(parts, result, [&](int64_t i, float* sums) {
    const OneThread one_thread;
    Primitive& primitive = conv_primitive(Pass::Weight, parts.part(i), dtype);
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
