// The devices under test in a page: those that KILN_TEST_DEVICES names, or the browser's GPU.
#include "kiln/core/setting/setting.hpp"
#include "kiln/ops/backend.hpp"
#include "tests/support/backends/devices.hpp"

namespace kiln::test {

Ref<Backend> plain_cpu() {
  Ref<Backend> plain;
  Device::cpu().backend().with_core([&](Ref<Backend> found) { return plain = std::move(found); });
  return plain;
}

Device device_named(const std::string& name) { return Device::parse(name); }

const std::vector<std::pair<std::string, Device>>& devices_under_test() {
  static const std::vector<std::pair<std::string, Device>> devices = [] {
    const char* const wanted = setting("KILN_TEST_DEVICES");
    const std::string name = wanted ? wanted : "webgpu";
    return std::vector<std::pair<std::string, Device>>{{name, device_named(name)}};
  }();
  return devices;
}

}  // namespace kiln::test
