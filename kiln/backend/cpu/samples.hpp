// Samples of op::Random for which each element has its own stream, for any kernel to divide among threads.
#pragma once
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/ops/create/create_ops.hpp"

namespace kiln::cpu {

class Samples {
 public:
  /// Throws ArgumentError where weights cannot be sampled by.
  Samples(const op::Random& op, Call call);
  /// Whether a call is one for this class. Other distributions use the words of one stream in order.
  static bool make(const op::Random& op, Call call);

  /// Fills elements [begin, end) of the result, which is in row-major order.
  void fill(const Array& result, std::int64_t begin, std::int64_t end) const;

 private:
  double real(std::int64_t i) const;
  std::int64_t whole(std::int64_t i) const;

  op::Distribution distribution_;
  Key key_;
  std::vector<double> a_, b_;  // one number for all elements, or one for each; for Categorical, sums of weights
  std::int64_t low_ = 0, high_ = 0, classes_ = 0, samples_ = 1;
};

}  // namespace kiln::cpu
