// Kernels of one's own on a GPU: what `bool run(std::string_view backend, Call call) const` of an operation of one's
// own (kiln/tensor/custom.hpp) needs. docs/kernels.md tells the way, examples/custom_kernel has two whole ones.
//
//   struct Twice {
//     Desc infer(Inputs in) const { return like(in[0]); }
//     Value expand(Inputs in) const { return in[0] * 2; }  // for devices and operands without a kernel
//     bool run(std::string_view backend, Call call) const {
//       gpu::Gpu* const gpu = gpu::as_gpu(backend);
//       if (!gpu) return false;
//       Value held;
//       const gpu::Array x = gpu->read_contiguous(call.in[0], held), y = gpu->allocate(call.out[0]);
//       gpu->launch(TwiceKernel{x.dtype}, gpu::blocks_for(x.numel(), 256), {x, y, x.numel()});
//       return true;
//     }
//   };
//
// The kernel is made by a plain struct, of its fields alone, and kept by them:
//
//   struct TwiceKernel {
//     DType dtype;
//     gpu::Kernel kernel() const {
//       gpu::Builder k("twice", 256);
//       const gpu::Buffer x = k.input(dtype), y = k.output(dtype);
//       const gpu::Expr count = k.number(DType::I64), i = k.place(DType::I64);
//       k.when(i < count, [&] { y.store(i, x[i] * 2); });
//       return k.finish();
//     }
//   };
#pragma once
#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu {

/// The GPU that runs this thread's operation, where `backend` is one: "cuda", "cuda:1", "simulated". Null for others, and
/// outside of an operation's run().
Gpu* as_gpu(std::string_view backend);

}  // namespace kiln::gpu
