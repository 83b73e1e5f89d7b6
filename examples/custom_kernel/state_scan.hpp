// A state-space layer's recurrence over time, h[t] = a[t] h[t - 1] + x[t], with states that know nothing of each other
// (Smith, Warrington and Linderman, "Simplified state space layers for sequence modeling", ICLR 2023). A loop over time in
// one kernel, whose gradient is the same scan the other way. (Kiln has it as linear_recurrence(); here it is one's own.)
#pragma once
#include "examples/custom_kernel/state_scan_text.hpp"

/// a, x and h are [batch, time, channels]. A block has 32 channels, and each of its warps a part of the time: it goes there
/// from zero, the parts are put together, and it goes there again from what came before (Martin and Cundy, "Parallelizing
/// linear recurrent neural nets over sequence length", ICLR 2018).
struct StateScanKernel {
  kiln::DType dtype;
  bool backwards;
  static constexpr int kParts = 8, kThreads = kParts * kiln::gpu::kLanes;

  kiln::gpu::Kernel kernel() const {
    using namespace kiln::gpu;
    using kiln::DType;
    Builder k("state_scan", kThreads);
    const Buffer a = k.input(dtype), x = k.input(dtype), h = k.output(dtype);
    const Expr time = k.number(DType::I32), channels = k.number(DType::I32);
    const DType type = kiln::expr::computed_in(dtype);
    const Shared factors = k.shared(type, kThreads), states = k.shared(type, kThreads);
    const Expr across = (channels + (kLanes - 1)) / kLanes;
    const Expr channel = k.block() % across * kLanes + k.lane();
    const Expr begin = k.warp() * time / kParts, end = (k.warp() + 1) * time / kParts, one = k.literal(DType::I32, 1);
    const auto at = [&](const Expr& step) {
      return (k.block() / across * time + (backwards ? time - 1 - step : step)) * channels + channel;
    };
    const Local state = k.variable(k.literal(type, 0)), factor = k.variable(k.literal(type, 1));
    k.when(channel < channels, [&] {
      k.loop(begin, end, one, [&](const Expr& step) {
        const Expr i = at(step), own = a[i];
        state.set(own * state + x[i]);
        factor.set(own * factor);
      });
    });
    factors.store(k.thread(), factor);
    states.store(k.thread(), state);
    k.barrier();
    state.set(k.literal(type, 0));
    for (int part = 0; part + 1 < kParts; ++part) {
      const Expr place = k.lane() + part * kLanes;
      k.when(k.warp() > part, [&] { state.set(factors[place] * state + states[place]); });
    }
    k.when(channel < channels, [&] {
      k.loop(begin, end, one, [&](const Expr& step) {
        const Expr i = at(step);
        state.set(a[i] * state + x[i]);
        h.store(i, state);
      });
    });
    return k.finish();
  }
};

/// Operands: a and x [batch, time, channels] of one type; h begins with zero, at the last moment where it goes backwards.
struct StateScan {
  bool backwards = false;
  bool as_text = false;

  kiln::Desc infer(kiln::Inputs in) const {
    kiln::require<kiln::ShapeError>(in[0].rank() == 3 && in[0].shape() == in[1].shape(), "StateScan: ", in[0], " and ",
                                    in[1], " must have one shape [batch, time, channels]");
    kiln::require<kiln::DTypeError>(in[0].dtype() == in[1].dtype(), "StateScan: ", in[0], " and ", in[1],
                                    " must be of one type");
    return kiln::like(in[1]);
  }
  /// What lies a distance before in the direction of the scan, zero at its beginning.
  static kiln::Value before(const kiln::Value& x, std::int64_t distance, bool backwards) {
    return backwards ? pad(x, {0, -distance, 0}, {0, distance, 0}) : pad(x, {0, distance, 0}, {0, -distance, 0});
  }
  /// Each moment with twice as many before it in every round.
  kiln::Value expand(kiln::Inputs in) const {
    kiln::Value a = in[0], h = in[1];
    for (std::int64_t distance = 1; distance < in[0].shape()[1]; distance *= 2) {
      h = h + a * before(h, distance, backwards);
      a = a * before(a, distance, backwards);
    }
    return h;
  }
  kiln::Values vjp(kiln::Inputs in, kiln::Inputs out, kiln::Inputs grad) const {
    const kiln::Values operands{before(in[0], 1, !backwards), grad[0]};
    const kiln::Value of_x = kiln::custom_all(StateScan{!backwards, as_text}, operands[0], operands[1])[0];
    return {of_x * before(out[0], 1, backwards), of_x};
  }
  bool run(std::string_view backend, kiln::Call call) const {
    kiln::gpu::Gpu* const gpu = kiln::gpu::as_gpu(backend);
    if (!gpu || call.out[0].numel() > INT32_MAX / StateScanKernel::kParts) return false;
    kiln::Value held[2];
    const auto a = gpu->read_contiguous(call.in[0], held[0]), x = gpu->read_contiguous(call.in[1], held[1]);
    const auto h = gpu->allocate(call.out[0]);
    const std::int64_t time = h.shape[1], channels = h.shape[2];
    const std::int64_t blocks = h.shape[0] * kiln::gpu::blocks_for(channels, kiln::gpu::kLanes);
    if (as_text && gpu->takes(kiln::gpu::Language::Cuda) && h.dtype == kiln::DType::F32)
      gpu->launch(StateScanText{backwards}, blocks, {a, x, h, time, channels});
    else gpu->launch(StateScanKernel{h.dtype, backwards}, blocks, {a, x, h, time, channels});
    return true;
  }
};
