// A server and its clients in one program, connected through memory.
#pragma once
#include <memory>
#include <mutex>

#include "kiln/backend/remote/host.hpp"
#include "kiln/backend/remote/remote.hpp"
#include "kiln/ops/device.hpp"

namespace kiln::test {

/// A client's end that a test may cut, as a network would; the test may hold it for longer than the client does.
struct Wire {
  std::unique_ptr<net::Connection> inner;
  std::atomic<bool> is_cut{false};
  std::atomic<int> sends_left{-1}, receives_left{-1};  // below 0: any number

  void cut() {
    is_cut = true;
    inner->close();
  }
};

class Cuttable final : public net::Connection {
 public:
  explicit Cuttable(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  ~Cuttable() override { wire_->inner->close(); }
  void send(std::span<const std::byte> message) override {
    if (wire_->sends_left >= 0 && wire_->sends_left-- == 0) wire_->cut();
    require<IoError>(!wire_->is_cut, "the network was cut");
    wire_->inner->send(message);
  }
  std::optional<net::Message> receive() override {
    if (wire_->receives_left >= 0 && wire_->receives_left-- == 0) wire_->cut();
    std::optional<net::Message> message = wire_->inner->receive();
    require<IoError>(!wire_->is_cut, "the network was cut");
    return message;
  }
  void close() noexcept override { wire_->inner->close(); }
  std::string peer() const override { return wire_->inner->peer(); }

 private:
  const std::shared_ptr<Wire> wire_;
};

/// Dials a host in this program. Keeps the last connection, to be cut.
struct Dialer {
  struct State {
    std::mutex mutex;
    std::shared_ptr<Wire> last;
    bool reachable = true;
    int cut_next_after = -1;  // messages that the next connections live for; -1: any number
    int cut_next_after_receiving = -1;
    remote::Host* leads_to = nullptr;  // in place of the first host
  };
  remote::Host* host;
  std::shared_ptr<State> state = std::make_shared<State>();

  std::unique_ptr<net::Connection> operator()() const {
    const std::lock_guard lock(state->mutex);
    require<IoError>(state->reachable, "nobody answers");
    auto [here, there] = net::connected_pair();
    (state->leads_to ? state->leads_to : host)->attach(std::move(there));
    state->last = std::make_shared<Wire>();
    state->last->inner = std::move(here);
    state->last->sends_left = state->cut_next_after;
    state->last->receives_left = state->cut_next_after_receiving;
    return std::make_unique<Cuttable>(state->last);
  }
};

inline Device remote_device(remote::Host& host, remote::ClientSettings settings = {}) {
  return Device(make_ref<remote::Remote>(Dialer{&host}, std::move(settings)));
}
inline remote::Remote& remote_of(const Device& device) { return dynamic_cast<remote::Remote&>(device.backend()); }

}  // namespace kiln::test
