// A simulated GPU of a kind, and which kernels it took.
#pragma once
#include <set>
#include <string>

#include "tests/backend/gpu/family/library.hpp"

namespace kiln::test {

/// Notes the names of the kernels that the device takes.
class NamingDriver final : public ForwardingDriver {
 public:
  explicit NamingDriver(const gpu::Profile& profile) : ForwardingDriver(gpu::make_simulated(profile)) {}
  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override {
    Ref<gpu::Code> code = ForwardingDriver::compile(kernel);
    names.insert(kernel.name);
    return code;
  }
  std::set<std::string> names;
};

}  // namespace kiln::test
