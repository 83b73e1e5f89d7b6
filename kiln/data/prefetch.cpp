#include "kiln/data/prefetch.hpp"

namespace kiln {

std::optional<std::int64_t> Turnstile::claim() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return stopped_ || claimed_ == count_ || claimed_ < taken_ + window_; });
  if (stopped_ || claimed_ == count_) return std::nullopt;
  return claimed_++;
}

void Turnstile::finish(std::int64_t position) {
  {
    const std::lock_guard lock(mutex_);
    done_[static_cast<std::size_t>(position % window_)] = true;
  }
  ready_.notify_one();
}

std::optional<std::int64_t> Turnstile::wait() {
  std::unique_lock lock(mutex_);
  const auto slot = static_cast<std::size_t>(taken_ % window_);
  if (stopped_ || taken_ == count_) return std::nullopt;
  ready_.wait(lock, [&] { return done_[slot]; });
  done_[slot] = false;
  return taken_;
}

void Turnstile::take() {
  {
    const std::lock_guard lock(mutex_);
    ++taken_;
  }
  room_.notify_all();
}

void Turnstile::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  room_.notify_all();
}

}  // namespace kiln
