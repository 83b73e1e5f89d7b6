// Custom kernels on a GPU: what `bool run(std::string_view backend, Call call) const` of a custom operation
// (kiln/tensor/custom.hpp) needs. docs/kernels.md explains how, examples/custom_kernel has two complete ones.
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
// A kernel that the device refuses (types, sizes, or its compiler does) runs as the expansion; KILN_LOG=gpu says so. An
// operation that takes an operand's memory asks for all of its kernels (Gpu::find) before it launches the first.
//
// A plain struct builds the kernel from its fields alone; the fields are also the key under which it is cached:
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

/// Returns the GPU that runs this thread's operation if `backend` names it: "cuda", "cuda:1", "simulated". Returns null
/// for other names, and outside of an operation's run().
Gpu* as_gpu(std::string_view backend);

}  // namespace kiln::gpu
