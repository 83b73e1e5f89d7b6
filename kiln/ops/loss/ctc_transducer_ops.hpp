// Losses that sum over all alignments of a short sequence of labels with a longer one of frames. One pass over the
// lattice of alignments computes both results: the loss, and the share of each score in it, which is the gradient.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// Connectionist temporal classification (Graves et al., "Connectionist temporal classification: labelling unsegmented
/// sequence data with recurrent neural networks", ICML 2006). A path begins in state 0 or 1 of a sequence and ends in
/// one of its last two; from frame to frame it stays, goes on to the next state, or skips one where it may.
struct Ctc {
  static constexpr std::string_view kName = "ctc";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Single, Bound::Other, Rows::None, MayFail::OnData};
  enum Slot {
    scores,  // [batch, time, state]: the log-probability of the state's emission in a frame
    skips,   // [batch, state] of booleans: whether the state may be entered from the last but one
    times,   // [batch]: frames of each sequence
    sizes,   // [batch]: states of each sequence, 1 or more
  };
  enum Result {
    loss,       // [batch]: -log of the sum over paths of their probabilities; infinite where there is no path
    occupancy,  // as scores: the probability that the path passes it, -d loss / d score; 0 without any path
  };
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 0xf, .out = true}; }
  void vjp(Backward& backward) const;
};

/// The transducer (Graves, "Sequence transduction with recurrent neural networks", 2012). A path begins before the
/// first frame and label; a blank leads to the next frame, a label to the next label within the frame. It ends with a
/// blank in the last frame after the last label.
struct Rnnt {
  static constexpr std::string_view kName = "rnnt";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Single, Bound::Other, Rows::None, MayFail::OnData};
  enum Slot {
    blanks,  // [batch, time, label + 1]: the log-probability of a blank in a frame, after this many labels
    labels,  // [batch, time, label]: the log-probability of the next label
    times,   // [batch]: frames of each sequence, 1 or more
    sizes,   // [batch]: labels of each sequence
  };
  enum Result { loss, blank_occupancy, label_occupancy };  // as in Ctc
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 0xf, .out = true}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
