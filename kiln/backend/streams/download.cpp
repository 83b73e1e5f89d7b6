#include "kiln/backend/streams/download.hpp"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

namespace kiln::streams {

class Download final : public gpu::Transfer {
 public:
  Download(Ref<Downloads> downloads, std::shared_ptr<Pinned> landing, std::size_t bytes)
      : downloads_(std::move(downloads)), landing_(std::move(landing)), bytes_(bytes) {}

  bool ready() const override {
    const std::shared_ptr<Pinned> landing = this->landing();
    return !landing || landing->done().ready();
  }
  void wait(std::byte* to) override {
    const std::shared_ptr<Pinned> landing = this->landing();
    KILN_CHECK(landing != nullptr);
    landing->done().wait();
    copy_bytes(to, landing->data(), bytes_);
    const std::lock_guard lock(mutex_);
    landing_ = nullptr;
  }
  void notify(Wakeup then) override {
    if (std::shared_ptr<Pinned> landing = this->landing()) downloads_->notify(std::move(landing), then);
    else then();
  }

 private:
  std::shared_ptr<Pinned> landing() const {
    const std::lock_guard lock(mutex_);
    return landing_;
  }

  const Ref<Downloads> downloads_;
  mutable std::mutex mutex_;
  std::shared_ptr<Pinned> landing_;  // null once the bytes are fetched: others may use it then
  const std::size_t bytes_;
};

Ref<gpu::Transfer> Downloads::start(const std::byte* from, std::size_t bytes) {
  std::shared_ptr<Pinned> landing = take(bytes);
  stream_->check(stream_->api().copy_to_host(landing->data(), address_of(from), bytes, stream_->handle()), "copying ",
                 bytes, " bytes to the host");
  landing->done().record();
  return make_ref<Download>(Ref<Downloads>(this), std::move(landing), bytes);
}

std::shared_ptr<Pinned> Downloads::take(std::size_t bytes) {
  const bool large = bytes > kLargestKept;
  const std::size_t size = large ? bytes : std::bit_ceil(std::max(bytes, kSmallest));
  std::unique_ptr<Pinned> landing;
  if (!large) {
    const std::lock_guard lock(mutex_);
    auto& free = free_[static_cast<std::size_t>(std::countr_zero(size))];
    if (!free.empty()) {
      landing = std::move(free.back());
      free.pop_back();
      kept_ -= size;
    }
  }
  if (!landing) landing = std::make_unique<Pinned>(stream_, size);
  return {landing.release(),
          [self = Ref<Downloads>(this)](Pinned* given) { self->give_back(std::unique_ptr<Pinned>(given)); }};
}

// The device may still write to the buffer if the transfer was not waited for; the next transfer into it is queued
// after that. A buffer that is not kept must be waited for before it is freed; errors are thrown elsewhere.
void Downloads::give_back(std::unique_ptr<Pinned> landing) {
  const std::size_t size = landing->size();
  {
    const std::lock_guard lock(mutex_);
    if (size <= kLargestKept && kept_ + size <= kMostKept) {
      free_[static_cast<std::size_t>(std::countr_zero(size))].push_back(std::move(landing));
      kept_ += size;
      return;
    }
  }
  try {
    landing->done().wait();
  } catch (const Error&) {}
}

void Downloads::notify(std::shared_ptr<Pinned> landing, Wakeup then) {
  const std::lock_guard lock(mutex_);
  if (!notifier_) notifier_ = std::make_unique<Notifier>();
  notifier_->notify(std::move(landing), then);
}

// ---- notifications -------------------------------------------------------------------------------------------------

struct Notifier::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<std::shared_ptr<Pinned>, Wakeup>> waiting;  // in order, as the device works
  bool ended = false;

  void run() {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return ended || !waiting.empty(); });
      if (waiting.empty()) return;
      auto [landing, then] = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      try {
        landing->done().wait();
      } catch (const Error&) {}  // thrown by the transfer's wait()
      then();
    }
  }
};

// The thread shares its state and is detached: it may itself release the Notifier's owner last.
Notifier::Notifier() : shared_(std::make_shared<Shared>()) {
  std::thread([shared = shared_] { shared->run(); }).detach();
}

Notifier::~Notifier() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ended = true;
  shared_->changed.notify_one();
}

void Notifier::notify(std::shared_ptr<Pinned> landing, Wakeup then) {
  const std::lock_guard lock(shared_->mutex);
  shared_->waiting.emplace_back(std::move(landing), then);
  shared_->changed.notify_one();
}

}  // namespace kiln::streams
