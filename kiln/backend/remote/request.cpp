#include "kiln/backend/remote/request.hpp"

#include <cstring>

namespace kiln::remote {

Request::Request(std::uint64_t number, std::vector<Value> values) : number_(number), values_(std::move(values)) {
  for (const Value& value : values_) data_.emplace_back(value.shape(), value.dtype());
  received_.resize(values_.size());
}

bool Request::ready() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

std::vector<TensorData> Request::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
  if (failure_) throw_failure(*failure_);
  return std::move(data_);
}

std::vector<std::byte> Request::answer() {
  wait();
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
  std::ranges::fill(received_, std::size_t{0});
}

void Request::take_piece(wire::Reader& in) {
  const std::uint64_t place = in.whole();
  const auto piece = in.bytes(in.length(in.left(), "bytes"));
  const std::lock_guard lock(mutex_);
  if (done_ || place >= data_.size()) in.wrong("a piece of a value that nobody asked for");
  const auto index = static_cast<std::size_t>(place);
  const auto bytes = data_[index].bytes();
  if (piece.size() > bytes.size() - received_[index]) in.wrong("more bytes than the value has");
  std::memcpy(bytes.data() + received_[index], piece.data(), piece.size());
  received_[index] += piece.size();
}

void Request::complete(wire::Reader& in) {
  std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < data_.size(); ++i)
    if (received_[i] != data_[i].bytes().size()) in.wrong("an answer without all bytes of value ", i);
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
