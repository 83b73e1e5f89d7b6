// Reads by index: single elements, and whole rows 16 bytes at a time.
#include <algorithm>

#include "kiln/backend/gpu/family/checks.hpp"
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/ops/check.hpp"

namespace kiln::gpu::family {
namespace {

/// Item i of the result is the item of x at the same place, except along one dimension, where the index says which.
struct PickKernel {
  DType word, indices, index, report_as;
  int rank, width;  // an item is `width` words

  Kernel kernel() const {
    Builder k("pick", kThreads);
    const Buffer x = k.input(word), which = k.input(indices), z = k.output(word), cell = k.both(report_as);
    const Expr count = k.number(index), size = k.number(DType::I64), stride = k.number(DType::I64);
    const Offsets places(k, index, rank, 3);
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const std::vector<Expr> at = places.of(i);
      const Expr wanted = which[at[1]].as(DType::I64);
      k.when((wanted >= 0) & (wanted < size),
             [&] { z.store(at[2] * width, x.load((at[0].as(DType::I64) + wanted * stride) * width, width)); },
             [&] { report(cell, i.as(DType::I64)); });
    });
    return k.finish();
  }
};

/// Checks indices when the result has no elements.
struct LookKernel {
  DType indices, report_as;

  Kernel kernel() const {
    Builder k("look", kThreads);
    const Buffer which = k.input(indices), cell = k.both(report_as);
    const Expr count = k.number(DType::I64), size = k.number(DType::I64);
    const Expr i = k.place(DType::I64);
    k.when(i < count, [&] {
      const Expr wanted = which[i].as(DType::I64);
      k.when((wanted < 0) | (wanted >= size), [&] { report(cell, i); });
    });
    return k.finish();
  }
};

/// Gathers with x, the index and z seen with the shape of z: the strides of x are 0 along the indexed dimension `dim`,
/// and the stride between x's elements there is passed separately.
void pick(Gpu& gpu, Call call, std::string_view op, int dim, const Dims& x_strides, const Dims& index_strides,
          std::int64_t inner) {
  const Array x = read(call.in[op::Gather::x]), z = gpu.allocate(call.out[0]);
  Value held;
  const Array indices = read(call.in[op::Gather::index]);
  const std::int64_t size = x.shape[dim];
  const Value cell = gpu.check_cell(std::max(z.numel(), indices.numel()));
  if (z.numel() == 0) {
    if (indices.numel() == 0) return;
    const Array all = gpu.read_contiguous(call.in[op::Gather::index], held);
    gpu.launch(LookKernel{all.dtype, cell.dtype()}, blocks_for(all.numel(), kThreads),
               {all, read(cell), all.numel(), size});
    return check_indices(gpu, cell, call, call.in[op::Gather::index], op, dim, size);
  }
  const Dims strides[] = {x_strides, index_strides, z.strides};
  Loop loop = merged(z.shape, strides);
  const DType index = index_type(loop);
  // The stride along the indexed dimension is one of those that the width of an item must divide.
  const std::size_t element = size_of(x.dtype);
  Loop stepped = loop;
  const std::byte* const moved[] = {x.data, nullptr, z.data};
  std::size_t bytes = widen(stepped, element, moved);
  if (x.strides[dim] * static_cast<std::int64_t>(element) % static_cast<std::int64_t>(bytes) == 0) loop = stepped;
  else bytes = element;
  const auto each = static_cast<std::int64_t>(bytes / element);
  const std::size_t word = std::min<std::size_t>(bytes, 8);
  const std::int64_t items = numel(loop.sizes);
  std::vector<Argument> arguments{x, indices, z, read(cell), items, size, x.strides[dim] / each};
  Offsets::append(arguments, loop);
  gpu.launch(
      PickKernel{word_of(word), indices.dtype, index, cell.dtype(), loop.sizes.size(), static_cast<int>(bytes / word)},
      blocks_for(items, kThreads), arguments);
  check_indices(gpu, cell, call, call.in[op::Gather::index], op, dim, size, each, inner);
}

}  // namespace

bool run(Gpu& gpu, const op::Gather& op, Call call) {
  const Array x = read(call.in[op::Gather::x]), indices = read(call.in[op::Gather::index]);
  const int dim = wrap_dim(op::Gather::kName, op.dim, x.shape.size());
  Dims beside = x.strides;
  beside[dim] = 0;
  pick(gpu, call, op::Gather::kName, dim, beside, indices.strides, 1);
  return true;
}

bool run(Gpu& gpu, const op::Select& op, Call call) {
  const Array x = read(call.in[op::Select::x]), indices = read(call.in[op::Select::index]);
  const int dim = wrap_dim(op::Select::kName, op.dim, x.shape.size());
  Dims x_strides, index_strides;
  std::int64_t inner = 1;
  for (int i = 0; i < x.shape.size(); ++i) {
    if (i == dim)
      for (const std::int64_t stride : indices.strides) {
        x_strides.push_back(0);
        index_strides.push_back(stride);
      }
    if (i > dim) inner *= x.shape[i];
    if (i == dim) continue;
    x_strides.push_back(x.strides[i]);
    index_strides.push_back(0);
  }
  pick(gpu, call, op::Select::kName, dim, x_strides, index_strides, inner);
  return true;
}

}  // namespace kiln::gpu::family
