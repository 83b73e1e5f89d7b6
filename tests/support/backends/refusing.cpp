#include "tests/support/backends/refusing.hpp"

#include <atomic>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/core/error/error.hpp"
#include "tests/support/backends/forwarding_driver.hpp"

namespace kiln::test {
namespace {

class RefusingDriver final : public ForwardingDriver {
 public:
  explicit RefusingDriver(int which) : which_(which) {}
  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override {
    if (asked_.fetch_add(1) % 2 == which_)
      throw gpu::Refused({gpu::Refusal::Reason::Limit, text(name(), ": kernel ", kernel.name, ": refused by a test")});
    return ForwardingDriver::compile(kernel);
  }

 private:
  const int which_;
  std::atomic<int> asked_ = 0;
};

}  // namespace

Ref<Backend> refusing_simulated(std::string_view which) {
  require<ArgumentError>(which == "even" || which == "odd", "no kernels are '", which, "'");
  return make_ref<gpu::Gpu>(make_ref<RefusingDriver>(which == "odd"));
}

}  // namespace kiln::test
