// A scope that decides how much the tape keeps for gradients.
#pragma once

namespace kiln {

/// While this object lives, on this thread: `const Checkpointing balanced(Checkpointing::Balanced);`
class Checkpointing {
 public:
  enum Strategy {
    /// Everything that a gradient will read is kept.
    None,
    /// Results of memory-bound operations (elementwise ones, normalisations, softmax, views of them) are not kept but
    /// recomputed when a gradient reads them, wherever their operands are kept anyway or are much smaller. Products,
    /// convolutions and attention never run twice. Gradients are the same bits.
    Balanced,
    /// Works like None, and checkpoint(function) is a plain call: for values that hold no memory, as in a capture.
    Never,
  };
  explicit Checkpointing(Strategy strategy);
  ~Checkpointing();
  Checkpointing(const Checkpointing&) = delete;
  Checkpointing& operator=(const Checkpointing&) = delete;

 private:
  Strategy before_;
};

/// The strategy of the innermost scope on this thread.
Checkpointing::Strategy checkpointing();

}  // namespace kiln
