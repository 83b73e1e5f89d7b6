// The processor behind a Fusion, and a count of what reaches it.
#pragma once
#include <cstdlib>

#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln::test {

/// The processor itself is not to fuse.
inline const bool kPlain = setenv("KILN_FUSION", "0", 1) == 0;

/// Passes everything on and counts the operations.
class Counting final : public Forwarding {
 public:
  std::string name() const override { return "counting"; }
  void run(const op::Op& op, Call call) override {
    ++runs;
    inner_->run(op, call);
  }

  std::atomic<int> runs = 0;
};

struct FusedDevice {
  Ref<Counting> counter = make_ref<Counting>();
  Ref<fusion::Fusion> fusion = make_ref<fusion::Fusion>(counter);
  Device device{fusion, true};

  ~FusedDevice() { device.flush(); }  // what nobody read would keep the device alive

  Value of(const Shape& shape, double step = 0.25) const {
    return reshape(arange(0.0, static_cast<double>(numel(shape)), 1.0, device, DType::F32) * step, shape);
  }
};

/// How many operations reach the processor when what waits is computed.
inline int runs(const FusedDevice& fused) {
  const int before = fused.counter->runs;
  fused.device.flush();
  return fused.counter->runs - before;
}
/// The same of what `program` returns.
template <class F>
int runs(const FusedDevice& fused, F&& program) {
  const auto held = program();
  return runs(fused);
}

}  // namespace kiln::test
