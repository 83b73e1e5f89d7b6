// Verify: a device that computes everything twice, compares, and names the first operation whose numbers differ.
//
//   const Verify verify(Device::best());                                            // with expansions, or with itself
//   const Verify verify(Device::cpu(), {.reference = Device::parse("reference")});  // all with a second device
//   run(verify.device());
//
// Any program can be verified unchanged: KILN_VERIFY=1 in its environment does the first, KILN_VERIFY=reference the
// second.
#pragma once
#include <memory>
#include <optional>

#include "kiln/core/tensor_data.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {

struct VerifyOptions {
  /// The device that every operation is compared with, on copies of the operands. None: a composite operation (softmax,
  /// a fused kernel) is compared with its expansion on the same device; any other with itself, on copies of its
  /// operands that nothing else has used.
  Device reference{};
  /// The tolerance. By default fused kernels must give exactly the numbers of their steps, and plans those of their
  /// operations, except where these compute sums. There, and in all other comparisons, it is a fraction of the largest
  /// element: 1e-10 for float64, 1e-4 for float32, 1e-2 for float16, 5e-2 for bfloat16. Integers must be equal. Results
  /// that are not unique, like the singular vectors of a matrix of low rank, may differ even if they are right.
  std::optional<Tolerance> tolerance{};
};

/// Counts comparisons across the device's threads and copies.
struct VerifyCount;

/// A device that throws VerifyError where two results differ: the error names the operation, the operands, which
/// result, how many elements and the worst of them; for a fused kernel also the first step that is wrong. The compared
/// results are those that the program received, from kernels that ran as they would without Verify. On a device that
/// fuses, kernels are checked as they run, and whenever a thread reads a value, all results that the thread asked for
/// and still holds are compared with those of the operations run one by one; sync() does so for all threads. Threads
/// may share a device.
class Verify {
 public:
  explicit Verify(const Device& device, const VerifyOptions& options = {});

  const Device& device() const { return device_; }
  /// The number of results compared so far.
  std::int64_t compared() const;

 private:
  std::shared_ptr<VerifyCount> count_;
  Device device_;
};

}  // namespace kiln
