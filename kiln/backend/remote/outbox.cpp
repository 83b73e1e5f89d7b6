#include "kiln/backend/remote/outbox.hpp"

#include <algorithm>
#include <utility>

#include "kiln/backend/remote/packing.hpp"
#include "kiln/backend/remote/protocol.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::remote {
namespace {
constexpr std::size_t kSmall = 64 << 10;
constexpr std::size_t kTimed = 1 << 20;   // bytes that tell how fast a link is
constexpr std::size_t kPacked = 1 << 10;  // bytes from which on a message may be packed

using Clock = std::chrono::steady_clock;

/// Sends a message, and returns the number of bytes.
std::size_t send(net::Connection& connection, const Outgoing& message, bool packs) {
  const auto part =
      message.count ? message.data->bytes().subspan(message.offset, message.count) : std::span<const std::byte>();
  if (packs && message.size() >= kPacked) {
    const std::vector<std::byte> fewer = packed(message.head, part, message.count ? size_of(message.data->dtype()) : 1);
    if (!fewer.empty()) return connection.send(fewer), fewer.size();
  }
  connection.send_parts(message.head, part);
  return message.size();
}

}  // namespace

Outbox::~Outbox() {
  close();
  if (!sender_.joinable()) return;
  if (sender_.get_id() == std::this_thread::get_id()) sender_.detach();
  else sender_.join();
}

void Outbox::connect(std::shared_ptr<net::Connection> connection) {
  const std::lock_guard lock(mutex_);
  connection_ = std::move(connection);
  ++epoch_;
  next_ = 0;
  changed_.notify_all();
}

void Outbox::post(Outgoing message) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || messages_.empty() || bytes_ + message.size() <= most_; });
  if (!closed_) add(lock, std::move(message));
}

bool Outbox::try_post(Outgoing message) {
  std::unique_lock lock(mutex_);
  if (closed_ || (!messages_.empty() && bytes_ + message.size() > most_)) return false;
  add(lock, std::move(message), false);
  return true;
}

void Outbox::post_work(Outgoing entries, bool waits, std::atomic<std::uint64_t>* number) {
  std::unique_lock lock(mutex_);
  if (waits) changed_.wait(lock, [&] { return closed_ || messages_.empty() || bytes_ + entries.size() <= most_; });
  if (closed_) return;
  if (messages_.empty()) timed_since_ = Clock::now();
  entries.number = last_number_ + 1;
  wire::Writer out;
  begin(out, Frame::Work);
  out.whole(entries.number);
  out.bytes(entries.head);
  entries.head = out.take();
  add(lock, std::move(entries), waits, number);
}

void Outbox::add(std::unique_lock<std::mutex>& lock, Outgoing message, bool waits, std::atomic<std::uint64_t>* number) {
  const std::size_t size = message.size();
  const std::uint64_t own = message.number;
  messages_.push_back(std::move(message));  // where memory ends here, nothing has changed
  bytes_ += size;
  if (own) last_number_ = own;
  if (number) *number = own;
  if (waits && size <= kSmall && !sending_ && connection_ && next_ + 1 == messages_.size()) send_next(lock);
  if (has_next()) changed_.notify_all();
}

void Outbox::confirm(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  bool any = false, all_pieces = true;
  std::size_t bytes = 0;
  while (next_ > 0 && messages_.front().number && messages_.front().number <= number && !(sending_ && next_ == 1)) {
    bytes += messages_.front().size();
    all_pieces &= messages_.front().data != nullptr;
    messages_.pop_front();
    --next_;
    any = true;
  }
  if (!any) return;
  bytes_ -= bytes;
  const auto start = std::exchange(timed_since_, Clock::now());
  if (all_pieces) {
    timed_bytes_ += bytes;
    timed_seconds_ += std::chrono::duration<double>(timed_since_ - start).count();
  }
  if (timed_bytes_ >= kTimed)
    rate_ = static_cast<double>(std::exchange(timed_bytes_, 0)) / std::max(std::exchange(timed_seconds_, 0), 1e-9);
  changed_.notify_all();
}

void Outbox::close(double seconds) {
  std::unique_lock lock(mutex_);
  if (seconds > 0)
    changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                      [&] { return !connection_ || !(has_next() || sending_); });
  closed_ = true;
  changed_.notify_all();
}

double Outbox::rate() const {
  const std::lock_guard lock(mutex_);
  return rate_;
}

std::uint64_t Outbox::sent_bytes() const {
  const std::lock_guard lock(mutex_);
  return sent_;
}

void Outbox::send_next(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<net::Connection> connection = connection_;
  const std::uint64_t epoch = epoch_;
  const Outgoing& message = messages_[next_++];  // stays where it is: confirm() leaves it while sending_ is set
  sending_ = true;
  lock.unlock();
  bool is_sent = true;
  std::size_t sent = 0;
  try {
    sent = send(*connection, message, packs_);
  } catch (...) {  // nobody is above this thread
    is_sent = false;
    connection->close();  // so that whoever receives finds out, too
  }
  lock.lock();
  sending_ = false;
  const bool is_current = epoch == epoch_;  // otherwise another connection begins anew
  sent_ += sent;
  if (!is_sent && is_current) connection_ = nullptr;
  if (!is_sent && when_lost_ == WhenLost::Close) closed_ = true;
  if (is_current && next_ > 0 && !messages_[next_ - 1].number) {
    bytes_ -= messages_[next_ - 1].size();
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(--next_));
  }
  changed_.notify_all();
}

void Outbox::send_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closed_ || (has_next() && !sending_); });
    if (closed_) return;
    send_next(lock);
  }
}

}  // namespace kiln::remote
