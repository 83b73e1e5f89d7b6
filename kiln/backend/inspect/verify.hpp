// Verify: a device that computes everything twice, compares, and names the first operation whose numbers differ.
//
//   const Verify verify(Device::best());                                            // with what it is made of, or itself
//   const Verify verify(Device::cpu(), {.reference = Device::parse("reference")});  // all with a second device
//   run(verify.device());
//
// Any program can be verified as it stands: KILN_VERIFY=1 in its environment does the first, KILN_VERIFY=reference the
// second.
#pragma once
#include <memory>
#include <optional>

#include "kiln/core/tensor_data.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {

struct VerifyOptions {
  /// The device that every operation is compared with, on copies of the operands. None: an operation that is made of
  /// others (softmax, a fused kernel) is compared with those, on the same device; one that is not, with itself, on
  /// copies of its operands that nothing else has used.
  Device reference{};
  /// How near is near enough. Unless told otherwise fused kernels must give the very numbers of their steps, and plans
  /// those of their operations, except where these take sums. There, and with everything else, it is a share of the
  /// largest element:
  /// 1e-10 for float64, 1e-4 for float32, 1e-2 for float16, 5e-2 for bfloat16. Integers are equal.
  /// Results that are not unique, like the singular vectors of a matrix of low rank, may differ all the same.
  std::optional<Tolerance> tolerance{};
};

/// Counts across the device's threads and copies.
struct VerifyCount;

/// A device that throws VerifyError where two results differ: it names the operation, the operands, which result, how
/// many elements and the worst of them; of a fused kernel the first step that is wrong. What is compared is what the
/// program itself was given, of kernels that ran as they would without Verify. On a device that fuses, kernels are
/// checked as they run, and whenever a thread reads a value all that it has asked for and still holds is compared with
/// what the operations give one by one; sync() does so for all threads. Threads may share a device.
class Verify {
 public:
  explicit Verify(const Device& device, const VerifyOptions& options = {});

  const Device& device() const { return device_; }
  /// Results that have been compared so far.
  std::int64_t compared() const;

 private:
  std::shared_ptr<VerifyCount> count_;
  Device device_;
};

}  // namespace kiln
