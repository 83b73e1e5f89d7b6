// The gradient of a tensor that is read in slices, put together at once: placing each among zeros and adding what comes of
// it would take as many passes over the whole as there are slices.
#pragma once
#include <vector>

#include "kiln/ops/op.hpp"

namespace kiln {

/// Gradients of slices of one tensor, that wait for each other.
class SliceGradients {
 public:
  void add(const op::Slice& slice, Value grad);
  /// Do they have more elements than the tensor? Then some have one in common.
  bool exceed(const Desc& whole) const;
  /// All of them, and `rest`, which may be empty. None are left.
  Value sum(Value rest, const Desc& whole, const Device& device);

 private:
  struct Waiting {
    Dims begin, step;
    Value grad;
  };
  int only_dim(const Desc& whole) const;
  Value joined(int dim, const Desc& whole, const Device& device);

  std::vector<Waiting> waiting_;
  std::int64_t elements_ = 0;  // of all that wait
};

}  // namespace kiln
