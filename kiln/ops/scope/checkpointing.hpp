// A scope that says how much the tape keeps for gradients.
#pragma once

namespace kiln {

/// While it lives, on this thread: `const Checkpointing balanced(Checkpointing::Balanced);`
class Checkpointing {
 public:
  enum Strategy {
    /// Whatever a gradient will read is kept.
    None,
    /// Results of memory-bound operations (elementwise ones, normalisations, softmax, views of them) are not kept but
    /// computed again when a gradient reads them, wherever what they are made of is kept anyway or is much smaller.
    /// Products, convolutions and attention never run twice. Gradients are the same bits.
    Balanced,
    /// As None, and checkpoint(function) is a plain call: where values hold no memory, as in a capture.
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
