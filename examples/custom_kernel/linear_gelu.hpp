// A fused layer of one's own: gelu(x w + b), whose sums never leave the registers before they are activated. One kernel
// for every GPU, written in Kiln's language (kiln/backend/gpu/kernel/builder.hpp), in float32, float64 and halves.
#pragma once
#include "examples/custom_kernel/linear_gelu_text.hpp"

/// Tiles of 64 x 64, a block each; x [rows, depth], w [depth, columns], b [columns].
struct LinearGeluKernel {
  kiln::DType dtype;
  static constexpr int kTile = 64, kDepth = 16, kAcross = 16, kOwn = kTile / kAcross, kThreads = kAcross * kAcross;

  kiln::gpu::Kernel kernel() const {
    using namespace kiln::gpu;
    using kiln::DType;
    Builder k("linear_gelu", kThreads);
    const Buffer x = k.input(dtype), w = k.input(dtype), b = k.input(dtype), y = k.output(dtype), h = k.output(dtype);
    const Expr rows = k.number(DType::I32), depth = k.number(DType::I32), columns = k.number(DType::I32);
    const DType type = kiln::expr::computed_in(dtype);
    const Shared left = k.shared(type, kTile * kDepth), right = k.shared(type, kDepth * kTile);
    const Local sums = k.local(type, kOwn * kOwn);
    const Expr zero = k.literal(type, 0), tiles = (columns + (kTile - 1)) / kTile;
    const Expr first_row = k.block() / tiles * kTile, first_column = k.block() % tiles * kTile;
    const Expr own_row = k.thread() / kAcross, own_column = k.thread() % kAcross;
    for (int i = 0; i < kOwn * kOwn; ++i) sums.set(i, zero);

    // What lies outside counts as zero, and nothing is read there.
    const auto element = [&](const Buffer& from, const Expr& i, const Expr& height, const Expr& j, const Expr& width) {
      return select((i < height) & (j < width), from[min(i, height - 1) * width + min(j, width - 1)], zero);
    };
    k.loop(k.literal(DType::I32, 0), depth, k.literal(DType::I32, kDepth), [&](const Expr& from) {
      for (int i = 0; i < kTile * kDepth; i += kThreads) {
        const Expr at = k.thread() + i;
        left.store(at, element(x, first_row + at / kDepth, rows, from + at % kDepth, depth));
        right.store(at, element(w, from + at / kTile, depth, first_column + at % kTile, columns));
      }
      k.barrier();
      for (int d = 0; d < kDepth; ++d)
        for (int i = 0; i < kOwn; ++i) {
          const Expr a = left[(own_row + i * kAcross) * kDepth + d];
          for (int j = 0; j < kOwn; ++j)
            sums.set(i * kOwn + j, sums[i * kOwn + j] + a * right[own_column + (d * kTile + j * kAcross)]);
        }
      k.barrier();
    });
    for (int i = 0; i < kOwn; ++i)
      for (int j = 0; j < kOwn; ++j) {
        const Expr row = first_row + own_row + i * kAcross, column = first_column + own_column + j * kAcross;
        k.when((row < rows) & (column < columns), [&] {
          const Expr z = k.narrow(sums[i * kOwn + j] + b[column], dtype);
          h.store(row * columns + column, z);
          const Expr wave = k.call("tanh", dtype, {(z + z * z * z * 0.044715) * 0.7978845608028654});
          y.store(row * columns + column, z * (wave + 1) * 0.5);
        });
      }
    return k.finish();
  }
};

/// Operands: x [rows, depth], w [depth, columns] and b [columns] of one type. Results: gelu(h), and h = x w + b, which the
/// gradient reads.
struct LinearGelu {
  bool as_text = false;  // the kernel that is CUDA C++, where the device takes it and all is float32

  kiln::Descs infer(kiln::Inputs in) const {
    kiln::require<kiln::ShapeError>(in[0].rank() == 2 && in[1].rank() == 2 && in[2].rank() == 1 &&
                                        in[0].shape()[1] == in[1].shape()[0] && in[1].shape()[1] == in[2].shape()[0],
                                    "LinearGelu: ", in[0], " x ", in[1], " + ", in[2], " do not fit");
    kiln::require<kiln::DTypeError>(in[0].dtype() == in[1].dtype() && in[0].dtype() == in[2].dtype(),
                                    "LinearGelu: ", in[0], ", ", in[1], " and ", in[2], " must be of one type");
    const kiln::Desc result{{in[0].shape()[0], in[1].shape()[1]}, in[0].dtype()};
    return {result, result};
  }
  kiln::Values expand(kiln::Inputs in) const {
    const kiln::Value h = matmul(in[0], in[1]) + in[2];
    return {gelu_tanh(h), h};
  }
  kiln::Values vjp(kiln::Inputs in, kiln::Inputs out, kiln::Inputs grad) const {
    const kiln::Value of_h = grad[0] * gelu_tanh_slope(out[1]) + grad[1];
    return {matmul(of_h, transpose(in[1], 0, 1)), matmul(transpose(in[0], 0, 1), of_h), sum(of_h, {0})};
  }
  bool run(std::string_view backend, kiln::Call call) const {
    kiln::gpu::Gpu* const gpu = kiln::gpu::as_gpu(backend);
    if (!gpu || call.in[0].numel() > INT32_MAX || call.in[1].numel() > INT32_MAX || call.out[0].numel() > INT32_MAX)
      return false;
    kiln::Value held[3];
    const auto x = gpu->read_contiguous(call.in[0], held[0]), w = gpu->read_contiguous(call.in[1], held[1]);
    const auto b = gpu->read_contiguous(call.in[2], held[2]);
    const auto y = gpu->allocate(call.out[0]), h = gpu->allocate(call.out[1]);
    const auto tiles = [](std::int64_t size) { return kiln::gpu::blocks_for(size, LinearGeluKernel::kTile); };
    const std::int64_t rows = x.shape[0], depth = x.shape[1], columns = w.shape[1],
                       blocks = tiles(rows) * tiles(columns);
    if (as_text && gpu->takes(kiln::gpu::Language::Cuda) && x.dtype == kiln::DType::F32)
      gpu->launch(LinearGeluText{}, blocks, {x, w, b, y, h, rows, depth, columns});
    else gpu->launch(LinearGeluKernel{x.dtype}, blocks, {x, w, b, y, h, rows, depth, columns});
    return true;
  }
};
