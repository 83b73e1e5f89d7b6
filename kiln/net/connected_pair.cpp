#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>

#include "kiln/core/error/error.hpp"
#include "kiln/net/connection.hpp"

namespace kiln::net {
namespace {

/// Pipe holds the messages that one end has sent and the other has not received yet.
class Pipe {
 public:
  explicit Pipe(std::size_t most) : most_(most) {}

  void push(std::span<const std::byte> message) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || waiting_.empty() || bytes_ + message.size() <= most_; });
    require<IoError>(!closed_, "the connection inside this program is closed: nothing more can be sent");
    bytes_ += message.size();
    waiting_.emplace_back(message.begin(), message.end());
    changed_.notify_all();
  }

  std::optional<Message> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return std::nullopt;
    Message message = std::move(waiting_.front());
    waiting_.pop_front();
    bytes_ -= message.size();
    changed_.notify_all();
    return message;
  }

  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> waiting_;
  std::size_t bytes_ = 0;
  bool closed_ = false;
};

class PairEnd final : public Connection {
 public:
  PairEnd(std::shared_ptr<Pipe> out, std::shared_ptr<Pipe> in) : out_(std::move(out)), in_(std::move(in)) {}
  ~PairEnd() override { close(); }

  void send(std::span<const std::byte> message) override { out_->push(message); }
  std::optional<Message> receive() override {
    std::optional<Message> message = in_->pop();
    if (!message || message->size() <= most_) return message;
    close();
    fail<IoError>("net: ", peer(), " has sent a message of ", message->size(), " bytes, and at most ", most_.load(),
                  " are taken here");
  }
  void take_at_most(std::size_t bytes) override { most_ = bytes; }
  void close() noexcept override {
    out_->close();
    in_->close();
  }
  std::string peer() const override { return "this program"; }

 private:
  std::shared_ptr<Pipe> out_, in_;
  std::atomic<std::size_t> most_{std::numeric_limits<std::size_t>::max()};
};

}  // namespace

void Connection::take_at_most(std::size_t /*bytes*/) {}

void Connection::send_parts(std::span<const std::byte> begin, std::span<const std::byte> end) {
  Message whole(begin.begin(), begin.end());
  whole.insert(whole.end(), end.begin(), end.end());
  send(whole);
}

std::optional<Message> Connection::receive_to(Place place) {
  std::optional<Message> message = receive();
  if (!message || message->size() < kLeastPlaced) return message;
  const std::span<std::byte> end = place(*message, message->size());
  const std::size_t left = message->size() - end.size();
  if (!end.empty()) std::memcpy(end.data(), message->data() + left, end.size());
  message->resize(left);
  return message;
}

std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> connected_pair(std::size_t buffered) {
  const auto there = std::make_shared<Pipe>(buffered), back = std::make_shared<Pipe>(buffered);
  return {std::make_unique<PairEnd>(there, back), std::make_unique<PairEnd>(back, there)};
}

}  // namespace kiln::net
