#include "kiln/backend/remote/request.hpp"

namespace kiln::remote {

Request::Request(std::uint64_t number, std::vector<Value> values) : number_(number), values_(std::move(values)) {
  for (const Value& value : values_) arrivals_.emplace_back(value.node()->desc);
}

bool Request::ready() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

std::vector<TensorData> Request::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
  if (failure_) throw_failure(*failure_);
  std::vector<TensorData> all;
  for (Arrival& each : arrivals_) all.push_back(std::move(each).take());
  arrivals_.clear();
  return all;
}

std::vector<std::byte> Request::answer() {
  (void)wait();
  return std::move(bytes_);
}

void Request::notify(Wakeup then) {
  {
    const std::lock_guard lock(mutex_);
    if (!done_) {
      then_ = then;
      return;
    }
  }
  then();
}

void Request::restart() {
  const std::lock_guard lock(mutex_);
  for (Arrival& each : arrivals_) each.restart();
}

std::span<std::byte> Request::place_for(std::uint64_t value, std::size_t count) {
  const std::lock_guard lock(mutex_);
  if (done_ || value >= arrivals_.size()) return {};
  const std::span<std::byte> left = arrivals_[static_cast<std::size_t>(value)].left();
  return count <= left.size() ? left.first(count) : std::span<std::byte>();
}

void Request::take_piece(wire::Reader& in, std::size_t placed) {
  const std::uint64_t value = in.whole();
  const std::uint64_t count = in.whole();
  const auto piece = in.bytes(in.left());
  const std::lock_guard lock(mutex_);
  if (done_ || value >= arrivals_.size()) in.wrong("a piece of a value that nobody asked for");
  Arrival& arrival = arrivals_[static_cast<std::size_t>(value)];
  if (count != piece.size() + placed || count > arrival.left().size())
    in.wrong("a piece of ", count, " bytes for a value that lacks ", arrival.left().size());
  placed ? arrival.came(placed) : arrival.came(piece);
}

void Request::complete(wire::Reader& in) {
  std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < arrivals_.size(); ++i)
    if (!arrivals_[i].is_complete()) in.wrong("an answer without all bytes of value ", i);
  const auto rest = in.bytes(in.left());
  bytes_.assign(rest.begin(), rest.end());
  finish(lock);
}

void Request::fail(Ref<Failure> failure) {
  std::unique_lock lock(mutex_);
  if (done_) return;
  failure_ = std::move(failure);
  finish(lock);
}

void Request::finish(std::unique_lock<std::mutex>& lock) {
  const Ref<PendingRead> self(this);
  done_ = true;
  const std::vector<Value> released = std::move(values_);
  const std::optional<Wakeup> then = then_;
  changed_.notify_all();
  lock.unlock();
  if (then) (*then)();
}

}  // namespace kiln::remote
