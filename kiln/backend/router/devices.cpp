// Routers by name, "router:cpu,cuda", and what their users ask.
#include <algorithm>
#include <map>

#include "kiln/backend/router/routing.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/mutex.hpp"
#include "kiln/ops/devices.hpp"

/// Every program that links the library names this symbol (CMakeLists.txt), and with it this file.
extern "C" const char kiln_router_devices[];
[[gnu::used]] const char kiln_router_devices[] = "router";

namespace kiln {
namespace {

Router* as_router(const Device& device) { return dynamic_cast<Router*>(device.handle().get()); }

const Router& router_of(const char* function, const Device& device) {
  const Router* const router = as_router(device);
  require<DeviceError>(router != nullptr, function, ": ", device, " is no router; Device::router() makes one");
  return *router;
}

/// Appends the devices that compute for a device: its parts' if it is a router.
void append_leaves(const Device& device, std::vector<Device>& leaves) {
  const Router* const router = as_router(device);
  if (!router) return leaves.push_back(device);
  for (const Device& part : router->parts()) append_leaves(part, leaves);
}

/// The device of a name after "router:", made once.
Device named_router(std::string_view rest) {
  static Mutex& mutex = *new Mutex;
  static auto& known = *new std::map<std::string, Device, std::less<>>;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(rest); found != known.end()) return found->second;
  std::vector<Device> parts;
  for (std::string_view names = rest;;) {
    const std::string_view name = names.substr(0, names.find(','));
    require<DeviceError>(!name.empty(), "router:", shown(rest),
                         ": a part has no name; write the devices with commas between them, router:cpu,cuda");
    require<DeviceError>(name != "router" && !name.starts_with("router:"), "router:", shown(rest),
                         ": a router within a router has no name; Device::router() makes it");
    parts.push_back(Device::parse(name));
    if (name.size() == names.size()) break;
    names.remove_prefix(name.size() + 1);
  }
  const Device device = router(std::move(parts));
  device.handle()->make_permanent();
  return known.emplace(rest, device).first->second;
}

[[gnu::constructor(200)]] void register_routers() { register_addressed_devices("router", &named_router); }

}  // namespace

Device router(std::vector<Device> parts, RoutePolicy policy) {
  require<ArgumentError>(!parts.empty() && parts.size() <= 32, "router: 1 to 32 parts, got ", parts.size());
  std::vector<Device> leaves;
  for (Device& part : parts) {
    require<ArgumentError>(static_cast<bool>(part), "router: no device was given for a part");
    part = Device(part.handle());
    append_leaves(part, leaves);
  }
  for (auto leaf = leaves.begin(); leaf != leaves.end(); ++leaf)
    require<ArgumentError>(std::find(leaves.begin(), leaf, *leaf) == leaf, "router: ", *leaf,
                           " is there twice; each part must be another device");
  return Device(make_ref<Router>(std::move(parts), std::move(policy)));
}

Device Device::router(std::initializer_list<Device> parts) { return kiln::router(std::vector<Device>(parts)); }

std::vector<Device> router_parts(const Device& router) { return router_of("router_parts", router).parts(); }

Device router_part(const Device& router, int part) {
  const auto count = static_cast<int>(router_of("router_part", router).parts().size());
  require<ArgumentError>(0 <= part && part < count, "router_part: ", router, " has no part ", part,
                         "; its parts are 0 to ", count - 1);
  Device placed = router;
  placed.set_place({.part = static_cast<std::int16_t>(part), .chosen = true});
  return placed;
}

int part_of(const Value& value) {
  require<DeviceError>(static_cast<bool>(value.node()), "part_of: ", value, " is on no device");
  return router_of("part_of", value.device()).part_of(value);
}

RouterMoves router_moves(const Device& router) { return router_of("router_moves", router).moves(); }

MicroBatches::MicroBatches(const Device& device, int most) : device_(device), most_(static_cast<std::size_t>(most)) {
  require<ArgumentError>(most >= 1, "MicroBatches: at most ", most, " at a time are none; give 1 or more");
}

void MicroBatches::begin() {
  Router* const router = as_router(device_);
  if (!router) return;
  begun_.push_back(router->tasks());
  if (begun_.size() <= most_) return;
  begun_.pop_front();
  router->await_tasks(begun_.front());
}

}  // namespace kiln
