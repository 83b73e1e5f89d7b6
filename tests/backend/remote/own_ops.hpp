// Operations of a user's own, for tests in which both programs, or one of them, know them.
#pragma once
#include "kiln/tensor/custom_wire.hpp"

namespace kiln::test {

/// x + 2 * by, in two operations where it is sent as its expansion.
struct Shift {
  double by = 1;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] + by + by; }
};
/// Other fields under the same name.
struct OtherShift {
  float by = 1;
  std::int64_t times = 3;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] - static_cast<double>(by); }
};

}  // namespace kiln::test
