#include "kiln/ops/device.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln {
namespace {

struct RegisteredDevice {
  std::string name;
  int priority;
  Device (*make)() = nullptr;
  // For several devices of one kind:
  Device (*make_one)(int index) = nullptr;
  int (*count)() = nullptr;

  int present() const { return count ? count() : 1; }
  Device first() const { return count ? make_one(0) : make(); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (int i = 0; i < present(); ++i) names.push_back(i ? text(name, ':', i) : name);
    return names;
  }
  /// The index of the device with that name: "cuda" is 0, "cuda:1" is 1.
  std::optional<int> index_of(std::string_view wanted) const {
    if (wanted == name) return 0;
    if (!count || !wanted.starts_with(name) || wanted[name.size()] != ':') return std::nullopt;
    const std::string_view digits = wanted.substr(name.size() + 1);
    int index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size() || index < 0) return std::nullopt;
    return index;
  }
};

// Filled while the program starts, before other threads exist.
std::vector<RegisteredDevice>& registry() {
  static std::vector<RegisteredDevice> entries;
  return entries;
}

struct KindOf {
  std::string name;
  DeviceKind (*of)(int index);
};
std::vector<KindOf>& kinds() {
  static std::vector<KindOf> all;
  return all;
}
DeviceKind kind_of(const RegisteredDevice& entry, int index) {
  for (const KindOf& kind : kinds())
    if (kind.name == entry.name) return kind.of(index);
  return DeviceKind::Other;
}

/// A device that a program or a hypervisor stands in for must be asked for, and is the last in lists.
bool stands_in(const RegisteredDevice& entry) { return kind_of(entry, 0) == DeviceKind::Virtual; }

/// The registered devices that the machine has, the fastest first.
std::vector<const RegisteredDevice*> present_entries() {
  std::vector<std::pair<int, const RegisteredDevice*>> ranked;
  for (const RegisteredDevice& entry : registry())
    if (entry.present() > 0) ranked.emplace_back(stands_in(entry) ? -1 : entry.priority, &entry);
  std::ranges::stable_sort(ranked, std::ranges::greater(), &std::pair<int, const RegisteredDevice*>::first);
  std::vector<const RegisteredDevice*> entries;
  for (const auto& [rank, entry] : ranked) entries.push_back(entry);
  return entries;
}

struct AddressedDevices {
  std::string kind;
  Device (*make)(std::string_view rest);
};
std::vector<AddressedDevices>& addressed() {
  static std::vector<AddressedDevices> all;
  return all;
}
/// The kind of addressed devices that has this name; null if none has.
const AddressedDevices* addressed_as(std::string_view name) {
  const std::string_view kind = name.substr(0, name.find(':'));
  const auto found = std::ranges::find(addressed(), kind, &AddressedDevices::kind);
  return found == addressed().end() ? nullptr : &*found;
}

/// Devices that a program has only if it asks for their component.
struct Component {
  std::string_view device, how;
};
constexpr Component kComponents[] = {
    {"libtorch",
     "the component kiln::libtorch, which Kiln has if it was built with PyTorch's C++ library "
     "(Debian: libtorch-dev)"}};

/// What is thrown for a name that no device has.
[[noreturn]] void fail_unknown(std::string_view name) {
  std::string known;
  for (const std::string& each : device_names()) known += (known.empty() ? "" : ", ") + each;
  for (const Component& component : kComponents)
    if (component.device == name) known += text("; a program has it that links ", component.how);
  fail<DeviceError>("no device '", shown(name), "'; there are: ", known);
}

std::array<Ref<Backend> (*)(Ref<Backend>), 4> decorations{};  // innermost first

}  // namespace

void retain(const Backend* backend) { backend->add_owner(); }
void release(const Backend* backend) {
  if (backend->drop_owner()) delete backend;
}

Device::Device(Ref<Backend> backend, bool autodiff) : backend_(std::move(backend)), autodiff_(autodiff) {}

void register_device(std::string_view name, int priority, Device (*make)()) {
  registry().push_back({.name = std::string(name), .priority = priority, .make = make});
}
void register_devices(std::string_view name, int priority, Device (*make)(int index), int (*count)()) {
  registry().push_back({.name = std::string(name), .priority = priority, .make_one = make, .count = count});
}

void register_addressed_devices(std::string_view kind, Device (*make)(std::string_view rest)) {
  addressed().push_back({std::string(kind), make});
}

void decorate_devices(Decoration place, Ref<Backend> (*wrap)(Ref<Backend>)) {
  decorations[static_cast<std::size_t>(place)] = wrap;
}
Ref<Backend> decorated(Ref<Backend> backend) {
  for (const auto wrap : decorations)
    if (wrap) backend = wrap(std::move(backend));
  return backend;
}

Device Device::parse(std::string_view name) {
  for (const RegisteredDevice& entry : registry())
    if (const std::optional<int> index = entry.index_of(name))
      return entry.count ? entry.make_one(*index) : entry.make();
  if (const AddressedDevices* const kind = addressed_as(name))
    return kind->make(name.substr(std::min(name.size(), kind->kind.size() + 1)));
  fail_unknown(name);
}

Device Device::cuda(int index) { return parse(index ? text("cuda:", index) : "cuda"); }

Device Device::best() {
  if (const char* const wanted = setting("KILN_DEVICE")) return parse(wanted);
  std::vector<const RegisteredDevice*> entries;
  for (const RegisteredDevice& entry : registry()) entries.push_back(&entry);
  std::ranges::stable_sort(entries, std::ranges::greater(), &RegisteredDevice::priority);
  std::string reasons;
  // Those after the first that opens are not even looked for: that takes time.
  for (const RegisteredDevice* const entry : entries) {
    if (entry->present() == 0 || stands_in(*entry)) continue;
    std::optional<Device> first;
    std::string reason;
    const Ref<Failure> failed =
        attempt([&] { first = entry->first(); }, [&](std::string_view said) { return reason = said; });
    if (failed && reason.empty()) throw_failure(*failed);  // it is no error of Kiln's
    if (!failed) {
      if (!reasons.empty())
        std::fprintf(stderr, "kiln: %s is used, since others do not open: %s\n", first->name().c_str(),
                     reasons.c_str());
      return *first;
    }
    reasons += text(reasons.empty() ? "" : "; ", reason);
  }
  require<DeviceError>(!reasons.empty(), "this program was linked without any device");
  fail<DeviceError>(reasons);
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const RegisteredDevice* const entry : present_entries())
    for (std::string& name : entry->names()) names.push_back(std::move(name));
  return names;
}

std::vector<Device> devices() {
  std::vector<Device> found;
  for (const std::string& name : device_names()) found.push_back(Device::parse(name));
  return found;
}

void register_kind(std::string_view name, DeviceKind (*kind)(int index)) {
  kinds().push_back({std::string(name), kind});
}

DeviceKind kind_of_device(std::string_view name) {
  for (const RegisteredDevice& entry : registry())
    if (const std::optional<int> index = entry.index_of(name)) return kind_of(entry, *index);
  if (addressed_as(name)) return DeviceKind::Other;
  fail_unknown(name);
}

std::vector<Device> devices(DeviceKind kind) {
  std::vector<Device> found;
  for (const std::string& name : device_names())
    if (kind_of_device(name) == kind) found.push_back(Device::parse(name));
  return found;
}

std::string_view name(DeviceKind kind) {
  static constexpr std::string_view kNames[] = {"cpu", "integrated", "discrete", "virtual", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

void Device::seed(std::uint64_t seed) const { backend().seed(seed); }
void Device::flush() const { backend().flush(); }
void Device::sync() const { backend().sync(); }
MemoryStatistics Device::memory() const { return backend().memory(); }
void Device::set_memory_limit(std::int64_t bytes) const {
  require<ArgumentError>(bytes > 0, "set_memory_limit: at least 1 byte, got ", bytes);
  backend().set_memory_limit(bytes);
}
void Device::reset_memory_peak() const { backend().reset_memory_peak(); }
void Device::release_memory() const { backend().release_memory(); }
std::string Device::name() const { return backend_ ? backend_->name() : "none"; }

Backend& Device::backend() const {
  require<DeviceError>(static_cast<bool>(backend_), "no device was given");
  return *backend_;
}

std::uint64_t Backend::next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}
Key Backend::next_key() {
  return KeyScope::next([this] { return Key{seed_}.split(drawn_++); });
}

void append(std::string& out, const Device& device) {
  out += device.name();
  if (device.is_autodiff()) out += " (autodiff)";
}

}  // namespace kiln
