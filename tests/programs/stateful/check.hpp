// What must hold of a program: the values and gradients of the plain kernels in float64, within what the element type
// allows; and the same bits a second time.
#pragma once
#include "tests/programs/stateful/run.hpp"

namespace kiln::stateful {

struct Finding {
  int step;
  std::string what;
  bool plain = false;  // the processor does as the plain kernels, and these are far from float64
};

/// An observation beside what it should be; norms of tensors.
struct Judged {
  int step;
  std::string name;
  double size, scale;  // its own, and that of the largest of its kind
  double error, own, allowed;
  /// May it be off by half of what it is, and no rounding error beside others of its kind?
  bool vague() const { return !(allowed <= 0.5 * size || allowed <= 0.1 * scale); }
};

struct Report {
  std::optional<Finding> wrong{};
  std::uint64_t bits = 0;  // of everything that was seen
  std::vector<Judged> judged{};
};

/// Runs the program on the processor, twice, and on the plain kernels.
Report check(const Program& program);
/// Runs it once, for the bits.
std::uint64_t bits_of(const Program& program);
/// Without the steps that do not matter to what is wrong.
Program shrink(Program program);

/// The processor as it is, or behind a Fusion; whatever KILN_FUSION says.
Device processor(bool fused);
/// Every check is also of this device, in place of the processor. For tests of the test.
void set_processor(const Device& device);

}  // namespace kiln::stateful
