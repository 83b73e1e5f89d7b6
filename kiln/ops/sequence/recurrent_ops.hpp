// A recurrent layer in one direction over all time steps, and its gradient, each as one op.
#pragma once
#include "kiln/ops/sequence/recurrent_cell.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// The part of each time step's sums that depends on x, `inputs` [batch, time, gates hidden], is computed before; the
/// op adds the product of the state h [batch, out] with `weight` [gates hidden, out]. An LSTM (gates i, f, g, o)
/// computes
///   c = f c + i g within [-clip, clip], h = o output(c), or with a projection [out, hidden] h = projection o output(c);
/// a GRU (r, z, n) n = candidate(inputs_n + weight_n (r h)), or with reset_after candidate(inputs_n + r (weight_n h +
/// candidate_bias)), and h = n + z (h - n) within [-clip, clip]; an RNN h = candidate(sums) within [-clip, clip]. i, f,
/// o, r and z are gate(sums), g is candidate(sums). `state` is the state before the first time step: h, followed by an
/// LSTM's c [batch, out + hidden]. Row b has only the first lengths[b] time steps: later ones change no state, and
/// their outputs are 0.
/// outputs are 0.
///
/// Results: h at each time step [batch, time, out]; the state after the last; and, where `keeps`, the values of each
/// time step that the gradient needs, side by side: i, f, g, o, c, or r, z, n (and weight_n h + candidate_bias with
/// reset_after), or h before it is clipped [batch, time, ...].
struct RecurrentLayer {
  static constexpr std::string_view kName = "recurrent_layer";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Half, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  /// `clip` is a plain number; operands that a layer does not have are absent.
  enum Slot { inputs, weight, candidate_bias, projection, state, lengths, clip };
  enum Result { outputs, last, kept };
  RecurrentCell cell;
  bool keeps = false;
  Float32Precision::Level precision = Float32Precision::OfDevice;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = keeps ? ~(1u << inputs) : ~0u, .out = keeps}; }
  void vjp(Backward& backward) const;
};

/// The gradients of a layer's `inputs` and `state`; for a GRU with reset_after also those of weight_n h +
/// candidate_bias [batch, time, hidden], and for an LSTM with a projection those of each time step's h. A GRU needs the
/// state `before` each time step [batch, time, hidden]. `kept` is what the layer kept; the gradients of its results
/// follow, of which all but the first may be absent.
struct RecurrentLayerGrad {
  static constexpr std::string_view kName = "recurrent_layer_grad";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Slot { weight, projection, before, kept, state, lengths, clip, grad, grad_last, grad_kept };
  RecurrentCell cell;
  Float32Precision::Level precision = Float32Precision::OfDevice;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;  // none: RecurrentLayer records the expansion where a gradient is wanted
};

}  // namespace kiln::op
