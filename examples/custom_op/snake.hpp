// An operation of one's own: Snake, x + sin(a x)^2 / a, an activation whose frequency `a` is learned with the weights
// (Liu, Hartwig and Ueda, "Neural networks fail to learn periodic functions and how to fix it", NeurIPS 2020).
#pragma once
#include <cmath>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/kiln.hpp"

/// Operands: x of any shape, and a of one element.
struct Snake {
  /// The description of the result; throws for operands that do not fit.
  kiln::Desc infer(kiln::Inputs in) const {
    kiln::require<kiln::ShapeError>(in[1].numel() == 1 && in[1].dtype() == in[0].dtype(), "Snake: the frequency ",
                                    in[1], " must be one element of the type of ", in[0]);
    return kiln::like(in[0]);
  }

  /// The operations that it is made of, for devices and types without a kernel.
  kiln::Value expand(kiln::Inputs in) const { return in[0] + square(sin(in[1] * in[0])) / in[1]; }

  /// The gradients of x and a, one kernel the fewer for knowing that 2 sin cos is the sine of twice the angle. Written
  /// with tensor functions, so that they have gradients themselves.
  kiln::Values vjp(kiln::Inputs in, kiln::Inputs, kiln::Inputs grad) const {
    const kiln::Value &x = in[0], &a = in[1], slope = sin(2 * (a * x));
    return {grad[0] * (1 + slope), grad[0] * (x * slope - square(sin(a * x)) / a) / a};
  }

  /// The kernel for single precision on the processor: one pass over memory, on all cores.
  bool run(std::string_view backend, kiln::Call call) const {
    if (backend != "cpu" || call.out[0].dtype() != kiln::DType::F32) return false;
    kiln::Value held[2];
    const float* x = kiln::cpu::read_contiguous(call.in[0], held[0]).as<const float>();
    const float a = *kiln::cpu::read_contiguous(call.in[1], held[1]).as<const float>();
    float* y = kiln::cpu::allocate(call.out[0]).as<float>();
    kiln::parallel_for(call.out[0].numel(), 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float wave = std::sin(a * x[i]);
        y[i] = x[i] + wave * wave / a;
      }
    });
    return true;
  }
};
