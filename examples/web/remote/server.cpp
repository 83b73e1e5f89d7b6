#include "examples/web/remote/server.hpp"

#include "kiln/backend/remote/address.hpp"
#include "kiln/browser/convert.hpp"

namespace page {
namespace {

using namespace kiln;
constexpr double kWindow = 10;  // seconds in which a lost connection may come back: somebody looks at the page

}  // namespace

Server::Server(const std::string& address, const std::string& token)
    : device_(make_ref<remote::Remote>(remote::dial_of(address),
                                       remote::ClientSettings{.token = token, .window = kWindow})) {
  browser::set_default_device(device_);
}

void Server::leave() {
  if (std::exchange(left_, true)) return;
  if (browser::default_device() == device_) browser::set_default_device(Device::cpu());
  remote().leave();
}

remote::Remote& Server::remote() const { return dynamic_cast<remote::Remote&>(device_.backend()); }

std::string Server::name() const {
  const std::string_view peer = device_.name();
  return text(remote().lent_device(), " at ", peer.substr(peer.find(':') + 1));
}

Traffic Server::traffic() const {
  const remote::ClientCounters counters = remote().counters();
  return {.calls = static_cast<double>(counters.calls),
          .sent = static_cast<double>(counters.bytes_sent),
          .received = static_cast<double>(counters.bytes_received),
          .reconnections = counters.reconnections,
          .lost = remote().is_lost()};
}

}  // namespace page
