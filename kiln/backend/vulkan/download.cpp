#include "kiln/backend/vulkan/download.hpp"

#include <algorithm>
#include <bit>
#include <thread>

namespace kiln::vulkan {

class Download final : public gpu::Transfer {
 public:
  Download(Ref<Downloads> downloads, std::unique_ptr<Buffer> landing, std::uint64_t value, std::size_t bytes)
      : downloads_(std::move(downloads)), value_(value), bytes_(bytes), landing_(std::move(landing)) {}
  ~Download() override {
    if (!landing_) return;
    try {
      downloads_->queue_->flush_for(value_);
      downloads_->context_->wait_for(value_);  // the device may yet write there
    } catch (const Error&) {
      (void)landing_.release();  // a lost device may still write there
      return;
    }
    downloads_->give_back(std::move(landing_));
  }

  bool ready() const override {
    try {
      downloads_->queue_->flush_for(value_);
    } catch (const Error&) {}  // of a lost device, which wait() throws
    return downloads_->context_->reached(value_);
  }
  void wait(std::byte* to) override {
    downloads_->queue_->flush_for(value_);
    downloads_->context_->wait_for(value_);
    KILN_CHECK(landing_ != nullptr);
    copy_bytes(to, landing_->data(), bytes_);
    downloads_->give_back(std::move(landing_));
  }
  void notify(Wakeup then) override {
    if (ready()) then();
    else downloads_->notify(value_, then);
  }

 private:
  const Ref<Downloads> downloads_;
  const std::uint64_t value_;
  const std::size_t bytes_;
  std::unique_ptr<Buffer> landing_;  // null once the bytes are fetched: others may use it then
};

/// What the thread shares that waits for others.
struct Downloads::Notified {
  explicit Notified(Ref<Context> with) : context(std::move(with)) {}

  const Ref<Context> context;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<std::uint64_t, Wakeup>> waiting;  // in order, as the device works
  bool ended = false;

  void run() {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return ended || !waiting.empty(); });
      if (waiting.empty()) return;
      const auto [value, then] = waiting.front();
      waiting.pop_front();
      lock.unlock();
      try {
        context->wait_for(value);
      } catch (const Error&) {}  // thrown by the transfer's wait()
      then();
    }
  }
};

Downloads::Downloads(Ref<Context> context, Ref<Queue> queue) : context_(std::move(context)), queue_(std::move(queue)) {}

Downloads::~Downloads() {
  if (!notified_) return;
  const std::lock_guard lock(notified_->mutex);
  notified_->ended = true;
  notified_->changed.notify_one();
}

Ref<gpu::Transfer> Downloads::start(Place from, std::size_t bytes) {
  std::unique_ptr<Buffer> landing = take(bytes);
  const std::uint64_t value = queue_->download(*landing, from, bytes);
  return make_ref<Download>(Ref<Downloads>(this), std::move(landing), value, bytes);
}

std::unique_ptr<Buffer> Downloads::take(std::size_t bytes) {
  const bool large = bytes > kLargestKept;
  const std::size_t size = large ? bytes : std::bit_ceil(std::max(bytes, kSmallest));
  if (!large) {
    const std::lock_guard lock(mutex_);
    auto& free = free_[static_cast<std::size_t>(std::countr_zero(size))];
    if (!free.empty()) {
      std::unique_ptr<Buffer> landing = std::move(free.back());
      free.pop_back();
      kept_ -= size;
      return landing;
    }
  }
  return std::make_unique<Buffer>(context_, Buffer::Kind::Landing, size);
}

void Downloads::give_back(std::unique_ptr<Buffer> landing) {
  const std::size_t size = landing->size();
  const std::lock_guard lock(mutex_);
  if (size > kLargestKept || kept_ + size > kMostKept) return;
  free_[static_cast<std::size_t>(std::countr_zero(size))].push_back(std::move(landing));
  kept_ += size;
}

void Downloads::notify(std::uint64_t value, Wakeup then) {
  const std::lock_guard lock(mutex_);
  if (!notified_) {
    notified_ = std::make_shared<Notified>(context_);
    std::thread([shared = notified_] { shared->run(); }).detach();
  }
  const std::lock_guard sharing(notified_->mutex);
  notified_->waiting.emplace_back(value, then);
  notified_->changed.notify_one();
}

}  // namespace kiln::vulkan
