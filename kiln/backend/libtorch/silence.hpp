// Keeps ATen from printing warnings while it runs an op: that a function may change in its next version is nothing that a
// user of Kiln could mend.
#pragma once
#include <c10/util/Exception.h>
#include <torch/csrc/api/include/torch/version.h>

namespace kiln::libtorch {

#if TORCH_VERSION_MAJOR < 2
using c10::Warning::WarningHandlerGuard;
struct SilentHandler final : c10::WarningHandler {
  void process(const c10::SourceLocation&, const std::string&, bool) override {}
};
#else
using c10::WarningUtils::WarningHandlerGuard;
struct SilentHandler final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};
#endif

class Silence {
 public:
  Silence() : guard_(&handler()) {}

 private:
  static SilentHandler& handler() {
    static auto& one = *new SilentHandler();
    return one;
  }
  WarningHandlerGuard guard_;
};

}  // namespace kiln::libtorch
