// A server and its clients in one program, connected through memory.
#pragma once
#include <memory>
#include <mutex>

#include "kiln/backend/remote/host.hpp"
#include "kiln/backend/remote/remote.hpp"
#include "kiln/ops/device.hpp"

namespace kiln::test {

/// A client's end that a test may cut, as a network would.
class Cuttable final : public net::Connection {
 public:
  explicit Cuttable(std::unique_ptr<net::Connection> inner) : inner_(std::move(inner)) {}
  void send(std::span<const std::byte> message) override {
    if (sends_left_ >= 0 && sends_left_-- == 0) cut();
    require<IoError>(!cut_, "the network was cut");
    inner_->send(message);
  }
  std::optional<net::Message> receive() override {
    std::optional<net::Message> message = inner_->receive();
    require<IoError>(!cut_, "the network was cut");
    return message;
  }
  void close() noexcept override { inner_->close(); }
  std::string peer() const override { return inner_->peer(); }

  void cut() {
    cut_ = true;
    inner_->close();
  }
  void cut_after(int sends) { sends_left_ = sends; }

 private:
  std::unique_ptr<net::Connection> inner_;
  std::atomic<bool> cut_{false};
  std::atomic<int> sends_left_{-1};
};

/// Dials a host in this program. Keeps the last connection, to be cut.
struct Dialer {
  remote::Host* host;
  std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
  std::shared_ptr<Cuttable*> last = std::make_shared<Cuttable*>(nullptr);
  std::shared_ptr<bool> reachable = std::make_shared<bool>(true);
  std::shared_ptr<int> cut_next_after = std::make_shared<int>(-1);

  std::unique_ptr<net::Connection> operator()() const {
    const std::lock_guard lock(*mutex);
    require<IoError>(*reachable, "nobody answers");
    auto [here, there] = net::connected_pair();
    host->attach(std::move(there));
    auto cuttable = std::make_unique<Cuttable>(std::move(here));
    cuttable->cut_after(*cut_next_after);
    *last = cuttable.get();
    return cuttable;
  }
};

inline Device remote_device(remote::Host& host, remote::ClientSettings settings = {}) {
  return Device(make_ref<remote::Remote>(Dialer{&host}, std::move(settings)));
}
inline remote::Remote& remote_of(const Device& device) { return dynamic_cast<remote::Remote&>(device.backend()); }

}  // namespace kiln::test
