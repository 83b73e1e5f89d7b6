// The gradient of a tensor that is read in slices, assembled at once: padding each slice with zeros and adding the
// results would take as many passes over the whole tensor as there are slices.
#pragma once
#include <vector>

#include "kiln/ops/op.hpp"

namespace kiln {

/// Collects the gradients of slices of one tensor.
class SliceGradients {
 public:
  void add(const op::Slice& slice, Value grad);
  /// Whether the slices have more elements than the tensor, so that some overlap.
  bool exceed(const Desc& whole) const;
  /// Returns the sum of all slices and `rest`, which may be empty, and clears the list.
  Value sum(Value rest, const Desc& whole, const Device& device);

 private:
  struct Waiting {
    Dims begin, step;
    Value grad;
  };
  int only_dim(const Desc& whole) const;
  Value joined(int dim, const Desc& whole, const Device& device);

  std::vector<Waiting> waiting_;
  std::int64_t elements_ = 0;  // in all collected slices
};

}  // namespace kiln
