#include "kiln/backend/webgpu/session.hpp"

#include <deque>
#include <memory>

#include "kiln/core/error/shown.hpp"

namespace kiln::webgpu {
namespace {

/// Shared with the callback, which may come when nobody waits any more.
struct DeviceAnswer {
  std::atomic<bool> given{false};
  DeviceHandle device = nullptr;
  std::string words;
};
void answer(std::uint32_t status, DeviceHandle device, Words words, void* to, void*) {
  const std::unique_ptr<std::shared_ptr<DeviceAnswer>> shared(static_cast<std::shared_ptr<DeviceAnswer>*>(to));
  DeviceAnswer& answer = **shared;
  answer.device = status == kSuccess ? device : nullptr;
  answer.words = escaped(words.view(), true);
  answer.given = true;
}

// A request that is cancelled when a program ends is no loss.
constexpr std::uint32_t kDestroyed = 2, kCancelled = 3;  // WGPUDeviceLostReason

void lost(const DeviceHandle*, std::uint32_t reason, Words words, void* to, void*) {
  if (reason == kCancelled) return;
  static_cast<Loss*>(to)->happen(text("the device is lost", reason == kDestroyed ? ", as somebody destroyed it" : "",
                                      ": ", escaped(words.view(), true)));
}
void failed(const DeviceHandle*, std::uint32_t, Words words, void* to, void*) {
  static_cast<Loss*>(to)->happen(escaped(words.view(), true));
}

/// The errors that the scopes of trouble_of() tell. Callbacks may come late, when nobody waits any more.
struct Scopes {
  std::atomic<int> open = 0;
  std::mutex mutex;
  std::optional<Trouble> trouble;
};
void told(std::uint32_t status, std::uint32_t type, Words words, void* to, void*) {
  const std::unique_ptr<std::shared_ptr<Scopes>> scopes(static_cast<std::shared_ptr<Scopes>*>(to));
  Scopes& all = **scopes;
  if (status == kSuccess && type > kNoError) {
    const std::lock_guard lock(all.mutex);
    if (!all.trouble) all.trouble = Trouble{.memory = type == kOutOfMemory, .words = escaped(words.view(), true)};
  }
  --all.open;
}

}  // namespace

Session::Session(const Provider& provider, const Adapter& adapter)
    : provider_(provider), adapter_(adapter), loss_(Loss::make()) {
  DeviceDescriptor descriptor;
  descriptor.label = std::string_view("kiln");
  descriptor.limits = &adapter_.limits;
  descriptor.lost.call = &lost;
  descriptor.lost.to = &loss_;
  descriptor.error.call = &failed;
  descriptor.error.to = &loss_;
  const auto shared = std::make_shared<DeviceAnswer>();
  const DeviceAnswer& got = *shared;
  functions().request_device(adapter.handle, &descriptor,
                             {.call = &answer, .to = new std::shared_ptr<DeviceAnswer>(shared)});
  wait([&] { return got.given.load(); });
  require<DeviceError>(got.device != nullptr, "webgpu: ", adapter.name, " gives no device: ", got.words);
  device_ = got.device;
  queue_ = functions().device_queue(device_);
}

Session::~Session() {
  const std::lock_guard lock(mutex_);
  functions().device_destroy(device_);
  provider_.process_events(device_);
  functions().device_release(device_);
}

std::optional<Trouble> Session::trouble_of(FunctionRef<void()> f) {
  const auto scopes = std::make_shared<Scopes>();
  {
    const std::lock_guard lock(mutex_);
    // wgpu-native ends the process where it is asked for internal errors.
    constexpr std::uint32_t kFilters[] = {kFilterOutOfMemory, kFilterValidation};
    for (const std::uint32_t filter : kFilters) functions().push_scope(device_, filter);
    f();
    for (std::size_t i = 0; i < std::size(kFilters); ++i) {
      ++scopes->open;
      functions().pop_scope(device_, {.call = &told, .to = new std::shared_ptr<Scopes>(scopes)});
    }
  }
  wait([&] { return scopes->open == 0; });
  const std::lock_guard lock(scopes->mutex);
  return std::move(scopes->trouble);
}

void Session::process_events() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) provider_.process_events(device_);
}

void Session::check() const {
  if (is_lost()) fail<DeviceError>("webgpu: ", adapter_.name, ": ", loss_.reason());
}

// ---- loss ----------------------------------------------------------------------------------------------------------

// Callbacks may come when the session has gone.
Loss& Loss::make() {
  static std::mutex mutex;
  static auto& all = *new std::deque<Loss>();
  const std::lock_guard lock(mutex);
  return all.emplace_back();
}

void Loss::happen(std::string reason) {
  const std::lock_guard lock(mutex_);
  if (happened_) return;
  reason_ = std::move(reason);
  happened_.store(true, std::memory_order_release);
}

std::string Loss::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

}  // namespace kiln::webgpu
