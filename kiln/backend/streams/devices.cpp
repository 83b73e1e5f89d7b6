#include "kiln/backend/streams/devices.hpp"

#include <algorithm>
#include <cstdio>

#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::streams {

Device DeviceList::device(int index) {
  const std::lock_guard lock(mutex_);
  require<DeviceError>(index < kMostDevices, "no device '", maker_.name, ":", index, "': Kiln counts to ",
                       kMostDevices);
  const Device*& device = devices_[static_cast<std::size_t>(index)];
  if (!device) {
    maker_.require_compiler();
    const Ref<Backend> backend = decorated(make_ref<gpu::Gpu>(maker_.drive(index)));
    backend->make_permanent();
    device = new Device(backend);
  }
  return *device;
}

int DeviceList::count_usable() const {
  int count = 0;
  try {
    count = device_count(maker_.driver());
  } catch (const Error&) { return 0; }
  try {
    if (count) maker_.require_compiler();
  } catch (const Error& error) {
    std::fprintf(stderr, "kiln: the GPU is not used: %s\n", error.what());
    return 0;
  }
  return std::min(count, kMostDevices);
}

int DeviceList::count() {
  std::call_once(counted_, [this] { count_ = count_usable(); });
  return count_;
}

DeviceKind DeviceList::kind(int index) const {
  const DriverApi& api = maker_.driver();
  DeviceNumber number{};
  int integrated = 0;
  const bool known = api.device_get(&number, index) == kSuccess &&
                     api.device_get_attribute(&integrated, maker_.integrated, number) == kSuccess;
  require<DeviceError>(known, "no device '", maker_.name, ":", index, "': ", api.own_name, " does not know it");
  return integrated ? DeviceKind::Integrated : DeviceKind::Discrete;
}

}  // namespace kiln::streams
