#include "kiln/ops/device.hpp"

#include <cstdlib>
#include <vector>

#include "kiln/ops/backend.hpp"
#include "kiln/ops/scope.hpp"

namespace kiln {
namespace {

struct Entry {
  std::string name;
  int priority;
  Device (*make)();
};

// Filled while the program starts, before there are other threads.
std::vector<Entry>& registry() {
  static std::vector<Entry> entries;
  return entries;
}

Ref<Backend> (*decoration)(Ref<Backend>) = nullptr;

}  // namespace

void retain(const Backend* backend) { backend->add_owner(); }
void release(const Backend* backend) {
  if (backend->drop_owner()) delete backend;
}

Device::Device(Ref<Backend> backend, bool autodiff) : backend_(std::move(backend)), autodiff_(autodiff) {}

void register_device(std::string_view name, int priority, Device (*make)()) {
  registry().push_back({std::string(name), priority, make});
}

void decorate_devices(Ref<Backend> (*wrap)(Ref<Backend>)) { decoration = wrap; }
Ref<Backend> decorated(Ref<Backend> backend) { return decoration ? decoration(std::move(backend)) : backend; }

Device Device::parse(std::string_view name) {
  std::string known;
  for (const Entry& entry : registry()) {
    if (entry.name == name) return entry.make();
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  fail<DeviceError>("no device '", name, "'; there are: ", known);
}

Device Device::best() {
  if (const char* wanted = std::getenv("KILN_DEVICE"); wanted && *wanted) return parse(wanted);
  const Entry* best = nullptr;
  for (const Entry& entry : registry())
    if (!best || entry.priority > best->priority) best = &entry;
  require<DeviceError>(best != nullptr, "this program was linked without any device");
  return best->make();
}

void Device::seed(std::uint64_t seed) const { backend().seed(seed); }
void Device::flush() const { backend().flush(); }
void Device::sync() const { backend().sync(); }
std::string Device::name() const { return backend_ ? backend_->name() : "none"; }

Backend& Device::backend() const {
  require<DeviceError>(static_cast<bool>(backend_), "no device was given");
  return *backend_;
}

Key Backend::next_key() {
  return KeyScope::next([this] { return Key{seed_}.split(drawn_++); });
}

void append(std::string& out, const Device& device) {
  out += device.name();
  if (device.is_autodiff()) out += " (autodiff)";
}

}  // namespace kiln
