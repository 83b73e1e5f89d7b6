// Convolution and its two adjoints. The images of a batch, or the rows of an image, are shared out to the threads.
#include <algorithm>

#include "kiln/backend/cpu/onednn/conv_direct.hpp"
#include "kiln/backend/cpu/onednn/conv_primitive.hpp"
#include "kiln/backend/cpu/onednn/conv_product.hpp"
#include "kiln/backend/cpu/onednn/conv_tiles.hpp"
#include "kiln/backend/cpu/onednn/pieces.hpp"
#include "kiln/backend/cpu/onednn/through_float32.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/planned/epilogue.hpp"

namespace kiln::cpu::onednn {
namespace {

using std::int64_t;

bool takes(DType dtype) { return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16; }

/// Our own loops know float32, and with next to no channels they are ahead of oneDNN's bfloat16, copies and all.
bool suits_float32(DType dtype, const Geometry& g, bool direct) { return dtype == DType::BF16 && direct && g.in < 8; }

Spatial spatial(const Shape& shape) { return Spatial(shape.begin() + 2, shape.end()); }

/// Where image `i` begins, its row `row` of the first axis.
std::byte* at(const Array& array, int64_t i, int64_t row = 0) {
  return array.data + (i * array.strides[0] + row * array.strides[2]) * static_cast<int64_t>(size_of(array.dtype));
}

/// Plain weights of one piece, by way of the order that the primitive writes.
void reorder_weight(const Array& plain, int64_t groups, const Memory& block, const MemoryDesc& order) {
  const dnnl::memory from(order, engine(), block.bytes()), to(plain_weight(plain, groups), engine(), plain.data);
  dnnl::reorder(from, to).execute(stream(), const_cast<dnnl::memory&>(from), const_cast<dnnl::memory&>(to));
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

/// Has oneDNN a primitive for each slab? Asked before anything is done: slabs at the edges are geometries of their own.
bool all_of_slabs(int64_t slabs, FunctionRef<bool(int64_t slab)> has_primitive) {
  const OneThread one_thread;
  for (int64_t slab = 0; slab < slabs; ++slab)
    if (!has_primitive(slab)) return false;
  return true;
}

/// Adds `count` arrays that lie one behind the other, the first one first.
template <class T>
void add_up(const float* parts, int64_t count, int64_t numel, T* result) {
  constexpr int64_t kBlock = 1024;
  parallel_for(numel, 16 * kBlock, [&](int64_t begin, int64_t end) {
    float sum[kBlock];
    for (int64_t block = begin; block < end; block += kBlock) {
      const int64_t size = std::min(kBlock, end - block);
      std::copy_n(parts + block, size, sum);
      for (int64_t part = 1; part < count; ++part)
        for (int64_t i = 0; i < size; ++i) sum[i] += parts[part * numel + block + i];
      for (int64_t i = 0; i < size; ++i) result[block + i] = T(sum[i]);
    }
  });
}

/// The convolution, its pieces given to `epilogue` where there is one; false then too where it has no pieces that could
/// be.
bool convolve(const op::Conv& conv, Call call, const Epilogue* epilogue) {
  using Slot = op::Conv::Slot;
  const DType dtype = call.out[0].dtype();
  const Geometry whole =
      Geometry::of(conv, call.in[Slot::x].shape(), call.out[0].shape(), spatial(call.in[Slot::weight].shape()));
  if (!takes(dtype) || whole.empty()) return false;
  if (goes_through_float32(dtype) || suits_float32(dtype, whole, direct_forward_fits(whole, DType::F32)))
    return !epilogue && through_float32(conv, call);

  const bool with_bias = call.in.size() > 2 && !call.in[Slot::bias].empty();
  const bool direct = direct_forward_fits(whole, dtype), tiles = !direct && tiles_fit(whole, dtype);
  bool product = !direct && !tiles && product_fits(whole, dtype);
  // A small result stays in the caches by itself.
  constexpr int64_t kWorthFinishing = 1 << 19;
  if (epilogue &&
      (tiles || product || numel(call.out[0].shape()) * static_cast<int64_t>(size_of(dtype)) < kWorthFinishing))
    return false;

  const int64_t wanted = pieces(whole.batch * whole.cost());
  const bool by_rows =
      whole.batch < wanted && whole.padding[0] < whole.reach(0) && whole.padding_after[0] < whole.reach(0);
  const int64_t images = by_rows ? 1 : divide_up(whole.batch, wanted);
  const int64_t rows = by_rows ? divide_up(whole.result[0], divide_up(wanted, whole.batch)) : whole.result[0];
  const int64_t slabs = divide_up(whole.result[0], rows);
  const auto part_of = [&](int64_t image, int64_t row) {
    return by_rows ? whole.rows(row, std::min(whole.result[0], row + rows))
                   : whole.images(std::min(images, whole.batch - image));
  };
  if (!direct && !tiles && !product && !all_of_slabs(slabs, [&](int64_t slab) {
        return static_cast<bool>(conv_primitive(part_of(0, slab * rows), dtype, with_bias));
      })) {
    if (epilogue) return false;
    if (dtype == DType::BF16) return through_float32(conv, call);
    if (!product_can(whole, dtype)) return false;
    product = true;
  }
  const Operand x = Operand::channels_last(call.in[Slot::x]), plain = Operand::contiguous(call.in[Slot::weight]);
  const Operand bias = with_bias ? Operand::contiguous(call.in[Slot::bias]) : Operand{};
  const Array* const start = with_bias ? &bias.array : nullptr;
  if (product) return product_conv(whole, x, plain, start, call.out[0]);

  const ConvResult y(call.out[0], epilogue);
  if (direct) {
    direct_conv(whole, x.array, plain, start, y);
    return true;
  }
  if (tiles) {
    tiles_conv(whole, x.array, plain, start ? start->as<float>() : nullptr, read(call.out[0]));
    return true;
  }
  PackedWeight weight(plain, whole.groups);
  parallel_for(divide_up(whole.batch, images) * slabs, 1, [&](int64_t begin, int64_t end) {
    const OneThread one_thread;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t image = piece / slabs * images, row = piece % slabs * rows;
      const Geometry part = part_of(image, row);
      const int64_t pixels = Geometry::product(part.result), row_pixels = pixels / part.result[0];
      Primitive& primitive = conv_primitive(part, dtype, with_bias);
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

bool run(const op::Conv& conv, Call call) { return convolve(conv, call, nullptr); }

bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue) {
  const auto* conv = std::get_if<op::Conv>(&op.product);
  return conv && convolve(*conv, call, &epilogue);
}

bool run(const op::ConvTranspose& op, Call call) {
  using Slot = op::ConvTranspose::Slot;
  const DType dtype = call.out[0].dtype();
  const Shape& shape = call.out[0].shape();
  const Geometry whole = Geometry::of(op.conv, shape, call.in[Slot::y].shape(), spatial(call.in[Slot::weight].shape()));
  if (!takes(dtype) || whole.empty()) return false;
  if (goes_through_float32(dtype) || suits_float32(dtype, whole, direct_data_fits(whole, DType::F32)))
    return through_float32(op, call);

  const int64_t wanted = pieces(whole.batch * whole.cost());
  const int64_t rows = divide_up(whole.sizes[0], divide_up(wanted, whole.batch)),
                slabs = divide_up(whole.sizes[0], rows);
  const bool by_rows = slabs > 1 && rows_make_sense(whole, rows);
  const int64_t images = by_rows ? 1 : divide_up(whole.batch, wanted);
  const bool direct = direct_data_fits(whole, dtype);
  bool product = !direct && product_data_fits(whole, dtype);
  const auto part_of = [&](int64_t image, int64_t row) {
    return by_rows ? whole.rows_of_x(row, std::min(whole.sizes[0], row + rows))
                   : whole.images(std::min(images, whole.batch - image));
  };
  if (!direct && !product && !all_of_slabs(by_rows ? slabs : 1, [&](int64_t slab) {
        return static_cast<bool>(conv_data_primitive(part_of(0, slab * rows), dtype));
      })) {
    if (dtype == DType::BF16) return through_float32(op, call);
    if (!product_can(whole, dtype)) return false;
    product = true;
  }
  const Operand y = Operand::channels_last(call.in[Slot::y]), plain = Operand::contiguous(call.in[Slot::weight]);
  if (product) return product_conv_data(whole, y, plain, call.out[0]);

  if (direct) {
    direct_conv_data(whole, y.array, plain, ConvResult(call.out[0], nullptr));
    return true;
  }
  const Array x = allocate(call.out[0], channels_last_strides(shape));
  PackedWeight weight(plain, whole.groups);
  parallel_for(divide_up(whole.batch, images) * (by_rows ? slabs : 1), 1, [&](int64_t begin, int64_t end) {
    const OneThread one_thread;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t image = by_rows ? piece / slabs : piece * images, row = by_rows ? piece % slabs * rows : 0;
      const int64_t last = std::min(whole.sizes[0], row + rows);
      const Geometry part = part_of(image, row);
      Primitive& primitive = conv_data_primitive(part, dtype);
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
  const Geometry whole = Geometry::of(op.conv, call.in[Slot::x].shape(), call.in[Slot::y].shape(), op.kernel);
  if (!takes(dtype) || whole.empty()) return false;
  if (goes_through_float32(dtype) || suits_float32(dtype, whole, direct_weight_fits(whole, DType::F32)))
    return through_float32(op, call);

  // Each piece sums over its images; so many pieces that their weights together stay within the cache.
  constexpr int64_t kMostBytes = 16 << 20;
  const Shape& shape = call.out[0].shape();
  const int64_t numel = kiln::numel(shape), bytes = numel * static_cast<int64_t>(sizeof(float));
  const int64_t most = std::max<int64_t>(2, kMostBytes / bytes);
  const int64_t images = limited_grain(divide_up(whole.batch, std::min(most, pieces(whole.batch * whole.cost()))));
  const int64_t count = divide_up(whole.batch, images);
  const bool direct = direct_weight_fits(whole, dtype);
  bool product = !direct && product_weight_fits(whole, dtype);
  if (!direct && !product && !all_of_slabs(1, [&](int64_t) {
        return static_cast<bool>(conv_weight_primitive(whole.images(images), dtype));
      })) {
    if (dtype == DType::BF16) return through_float32(op, call);
    if (!product_can(whole, dtype)) return false;
    product = true;
  }
  const Operand x = Operand::channels_last(call.in[Slot::x]), y = Operand::channels_last(call.in[Slot::y]);
  if (product) return product_conv_weight(whole, x, y, call.out[0]);

  const Array weight = allocate(call.out[0]);
  const Memory parts(static_cast<std::size_t>(count * bytes));
  parallel_pieces(whole.batch, images, [&](int64_t begin, int64_t end) {
    std::byte* part = parts.bytes() + begin / images * bytes;
    if (direct) return direct_conv_weight(whole, x.array, y.array, begin, end, reinterpret_cast<float*>(part));
    const OneThread one_thread;
    Primitive& primitive = conv_weight_primitive(whole.images(end - begin), dtype);
    const MemoryDesc order = primitive.desc(2);
    const Memory block(order.get_size());
    primitive.place(0, at(x.array, begin));
    primitive.place(1, at(y.array, begin));
    primitive.place(2, block.bytes());
    primitive.execute();
    const Array plain{part, DType::F32, shape, contiguous_strides(shape)};
    reorder_weight(plain, whole.groups, block, order);
  });
  const auto* sums = reinterpret_cast<const float*>(parts.bytes());
  if (dtype == DType::BF16) add_up(sums, count, numel, weight.as<BF16>());
  else add_up(sums, count, numel, weight.as<float>());
  return true;
}

}  // namespace kiln::cpu::onednn
