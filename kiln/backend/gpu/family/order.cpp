// Sort, TopK and SearchSorted.
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/sort.hpp"

namespace kiln::gpu::family {
namespace {

/// Sorts each line along `dim` and keeps the first `count`; `dim` is moved to the end meanwhile.
bool order(Gpu& gpu, Call call, int dim, bool descending, std::int64_t count) {
  Array x = read(call.in[0]), values = gpu.allocate(call.out[0]), indices = gpu.allocate(call.out[1]);
  if (x.shape[dim] > kLongestLine) return false;
  if (values.numel() == 0) return true;
  const auto to_end = [dim](Array array) {
    for (int i = dim; i + 1 < array.shape.size(); ++i) {
      std::swap(array.shape[i], array.shape[i + 1]);
      std::swap(array.strides[i], array.strides[i + 1]);
    }
    return array;
  };
  Values held;
  const auto copied = [&](const Array& array) {
    held.push_back(gpu.scratch({array.shape, array.dtype}));
    return read(held.back());
  };
  const auto as_lines = [](Array array) {
    const std::int64_t length = array.shape.back();
    array.shape = {array.numel() / length, length};
    array.strides = {length, 1};
    return array;
  };
  x = to_end(x);
  if (!x.contiguous()) {
    const Array in_line = copied(x);
    copy(gpu, x, in_line);
    x = in_line;
  }
  const Array last_values = to_end(values), last_indices = to_end(indices);
  const bool in_place = last_values.contiguous();
  const Array to = in_place ? last_values : copied(last_values), where = in_place ? last_indices : copied(last_indices);
  sort_lines(gpu, as_lines(x), descending, count, as_lines(to), as_lines(where));
  if (in_place) return true;
  copy(gpu, to, last_values);
  copy(gpu, where, last_indices);
  return true;
}

/// Binary search with one thread per number that is looked for.
struct SearchKernel {
  DType dtype, index;
  bool right;

  Kernel kernel() const {
    Builder k("search", 256);
    const Buffer sorted = k.input(dtype), wanted = k.input(dtype), z = k.output(DType::I64);
    const Expr count = k.number(index), each = k.number(index), length = k.number(DType::I64);
    const Expr i = k.block().as(index) * 256 + k.thread().as(index);
    // NaN compares as larger than any number.
    const auto before = [&](const Expr& a, const Expr& b) {
      return is_float(dtype) ? (a < b) | ((b != b) & (a == a)) : a < b;
    };
    k.when(i < count, [&] {
      const Expr line = (i / each).as(DType::I64) * length, value = wanted[i];
      const Local low = k.variable(k.literal(DType::I64, 0)), high = k.variable(length);
      k.loop_while([&] { return low < high; },
                   [&] {
                     const Expr middle = (low + high) / 2, there = sorted[line + middle];
                     const Expr further = right ? !before(value, there) : before(there, value);
                     high.set(select(further, high, middle));
                     low.set(select(further, middle + 1, low));
                   });
      z.store(i, low);
    });
    return k.finish();
  }
};

}  // namespace

bool run(Gpu& gpu, const op::Sort& op, Call call) {
  return order(gpu, call, op.dim, op.descending, call.in[0].shape()[op.dim]);
}

bool run(Gpu& gpu, const op::TopK& op, Call call) { return order(gpu, call, op.dim, op.largest, op.k); }

bool run(Gpu& gpu, const op::SearchSorted& op, Call call) {
  using op::SearchSorted;
  Values held(2);
  const Array lines = gpu.read_contiguous(call.in[SearchSorted::sorted], held[0]),
              wanted = gpu.read_contiguous(call.in[SearchSorted::values], held[1]), z = gpu.allocate(call.out[0]);
  if (z.numel() == 0) return true;
  const std::int64_t each = lines.shape.size() == 1 ? wanted.numel() : wanted.shape.back();
  gpu.launch(SearchKernel{lines.dtype, index_type(z.numel()), op.right}, blocks_for(z.numel(), 256),
             {lines, wanted, z, z.numel(), each, lines.shape.back()});
  return true;
}

}  // namespace kiln::gpu::family
