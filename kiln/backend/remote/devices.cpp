// The devices "remote:HOST:PORT" and "remote:tls:HOST:PORT", one of each per program while its session lives.
#include "kiln/ops/devices.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "kiln/backend/remote/address.hpp"
#include "kiln/backend/remote/remote.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/net/websocket.hpp"

/// Programs that link the library refer to this symbol by name (CMakeLists.txt), so that the linker keeps this file.
extern "C" const char kiln_remote_devices[];
[[gnu::used]] const char kiln_remote_devices[] = "remote";

namespace kiln::remote {
namespace {

/// Known is the device at an address; whoever dials holds its mutex, and only those who want the same address wait.
struct Known {
  std::mutex dialing;
  std::atomic<Device*> device{nullptr};
};

/// Ends the sessions when the program ends, so that servers need not wait for it.
class AtExit {
 public:
  ~AtExit() {
    const std::lock_guard lock(mutex);
    for (auto& [address, known] : all)
      if (Device* const device = known.device) dynamic_cast<Remote&>(device->backend()).leave();
  }
  Known& at(std::string_view address) {
    const std::lock_guard lock(mutex);
    return all[std::string(address)];
  }

 private:
  std::mutex mutex;
  // The devices are never destroyed: tensors in global variables may outlive all else.
  std::map<std::string, Known, std::less<>> all;
};

Device device_at(std::string_view address) {
  static AtExit all;
  Known& at = all.at(address);
  const std::lock_guard lock(at.dialing);
  Device* const known = at.device;
  // A session that was lost stays so, with its tensors; whoever asks for the device from now on gets a new one.
  if (known && !dynamic_cast<Remote&>(known->backend()).is_lost()) return *known;
  ClientSettings settings;
  settings.address = std::string(address);
  if (const char* const token = setting("KILN_REMOTE_TOKEN")) settings.token = token;
  if (const char* const said = setting("KILN_REMOTE_COMPRESSION")) {
    const std::string_view word = said;
    require<ArgumentError>(word == "automatic" || word == "never" || word == "always", "KILN_REMOTE_COMPRESSION is ",
                           shown(word), ": it must be automatic, never or always");
    settings.compression = word == "always"  ? Compression::Always
                           : word == "never" ? Compression::Never
                                             : Compression::Automatic;
  }
  const Ref<Backend> backend = make_ref<Remote>(dial_of(address), std::move(settings));
  backend->make_permanent();
  at.device = new Device(backend);
  return *at.device;
}

[[gnu::constructor(200)]] void register_remote() {
  register_addressed_devices("remote", &device_at);
  register_mover(&Remote::start_move);
}

}  // namespace

Dial dial_of(std::string_view address) {
  constexpr std::string_view kTls = "tls:";
  const bool is_tls = address.starts_with(kTls);
  const net::Address at = net::Address::parse(is_tls ? address.substr(kTls.size()) : address, kPort);
  net::ConnectOptions options{.path = std::string(kPath)};
  options.limits.message_bytes = kMostBytes;
  options.masks_loopback = false;
  if (is_tls) {
    options.tls.emplace();
    if (const char* const authority = setting("KILN_REMOTE_AUTHORITY")) options.tls->authority = authority;
  }
  return [at, options] { return net::connect(at, options); };
}

}  // namespace kiln::remote
