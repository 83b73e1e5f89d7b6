#include "tests/support/backends/devices.hpp"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "kiln/backend/inspect/profile.hpp"
#include "kiln/backend/inspect/verify.hpp"
#include "kiln/backend/router/router.hpp"
#include "kiln/fusion/fusion.hpp"
#include "tests/support/backends/few_kernels.hpp"
#include "tests/support/backends/hosted.hpp"
#include "tests/support/backends/late_reads.hpp"
#include "tests/support/backends/lowered.hpp"
#include "tests/support/backends/printed.hpp"
#include "tests/support/backends/queued.hpp"
#include "tests/support/backends/refusing.hpp"

namespace kiln::test {
namespace {

Ref<Backend> backend_named(const std::string& name) {
  if (name == "few") return make_ref<FewKernels>(plain_cpu());
  if (name == "late") return make_ref<LateReads>(plain_cpu());
  if (name.starts_with("hosted:")) return hosted(device_named(name.substr(7)));
  if (name.starts_with("lowered:")) return lowered_simulated(name.substr(8));
  if (name.starts_with("printed:")) return printed_simulated(name.substr(8));
  if (name.starts_with("refusing:")) return refusing_simulated(name.substr(9));
  if (name == "queued") return make_ref<Queued>(plain_cpu());
  return Device::parse(name).handle();
}

// A router of the devices with these names, "cpu+simulated". The parts take turns, so that values move everywhere.
Device alternating_router(const std::string& names) {
  std::vector<Device> parts;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, '+');) parts.push_back(device_named(name));
  const auto turns = std::make_shared<std::atomic<unsigned>>(0);
  return router(std::move(parts), [turns](const RouteRequest& request) {
    auto turn = (*turns)++ % static_cast<unsigned>(std::popcount(request.allowed));
    std::uint32_t left = request.allowed;
    for (; turn; --turn) left &= left - 1;
    return std::countr_zero(left);
  });
}

// Returns the backend below all decorators.
Ref<Backend> core_of(const Device& device) {
  Ref<Backend> core;
  device.handle()->with_core([&](Ref<Backend> found) { return core = std::move(found); });
  return core;
}

// Keeps the decorator until the process ends.
template <class Decorator>
Device kept(std::unique_ptr<Decorator> decorator) {
  static auto& all = *new std::vector<std::unique_ptr<Decorator>>();
  return all.emplace_back(std::move(decorator))->device();
}

}  // namespace

Ref<Backend> plain_cpu() { return core_of(Device::cpu()); }

// Like Device::cpu(), these devices are never destroyed.
Device device_named(const std::string& name) {
  if (name.starts_with("alternating:")) {
    const Device device = alternating_router(name.substr(12));
    device.handle()->make_permanent();
    return device;
  }
  const std::size_t space = name.find(' ');
  if (space == std::string::npos) {
    const Ref<Backend> backend = backend_named(name);
    backend->make_permanent();
    return Device(backend);
  }
  const std::string decorator = name.substr(0, space);
  if (decorator == "plain") return Device(core_of(device_named(name.substr(space + 1))));
  const Device fused(make_ref<fusion::Fusion>(device_named(name.substr(space + 1)).handle()));
  if (decorator == "profiled") return kept(std::make_unique<Profile>(fused, ProfileOptions{.most_events = 1000}));
  if (decorator == "verified") return kept(std::make_unique<Verify>(fused));
  require<ArgumentError>(decorator == "fused", "no decorator '", decorator, "'");
  fused.handle()->make_permanent();
  return fused;
}

const std::vector<std::pair<std::string, Device>>& devices_under_test() {
  static const auto& all = *[] {
    auto* const list = new std::vector<std::pair<std::string, Device>>();
    const char* const wanted = std::getenv("KILN_TEST_DEVICES");
    std::istringstream names(wanted ? wanted : "cpu,reference");
    for (std::string name; std::getline(names, name, ',');) list->emplace_back(name, device_named(name));
    return list;
  }();
  return all;
}

}  // namespace kiln::test
