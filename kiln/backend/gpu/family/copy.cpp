#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"

namespace kiln::gpu::family {
namespace {

/// Elements one by one, wherever they lie.
struct CopyKernel {
  DType dtype, index;
  int rank;

  Kernel kernel() const {
    Builder k("copy", 256);
    const Buffer from = k.input(dtype), to = k.output(dtype);
    const Expr count = k.number(index);
    const Places places(k, index, rank, 2);
    const Expr i = k.block().as(index) * k.threads() + k.thread().as(index);
    k.when(i < count, [&] {
      const std::vector<Expr> at = places.of(i);
      to.store(at[1], from[at[0]]);
    });
    return k.finish();
  }
};

}  // namespace

void copy(Gpu& gpu, const Array& from, const Array& to) {
  const std::int64_t count = from.numel();
  if (count == 0) return;
  if (strided::same_order(from.shape, from.strides, to.strides) && strided::is_dense(from.shape, from.strides))
    return gpu.driver().copy(to.data, from.data, static_cast<std::size_t>(count) * size_of(from.dtype));
  const Dims strides[] = {from.strides, to.strides};
  const Loop loop = merged(from.shape, strides);
  std::vector<Argument> arguments{from, to, count};
  Places::append(arguments, loop);
  // Elements travel as they are: by their size alone.
  const DType dtype = size_of(from.dtype) == 1   ? DType::U8
                      : size_of(from.dtype) == 2 ? DType::U16
                      : size_of(from.dtype) == 4 ? DType::U32
                                                 : DType::U64;
  gpu.launch(CopyKernel{dtype, index_type(loop), loop.sizes.size()}, blocks_for(count, 256), arguments);
}

}  // namespace kiln::gpu::family
