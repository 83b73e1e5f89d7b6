#include "kiln/backend/streams/download.hpp"

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
    gpu::copy_bytes(to, landing->data(), bytes_);
    const std::lock_guard lock(mutex_);
    landing_ = nullptr;
  }
  void notify(Wakeup then) override {
    if (std::shared_ptr<Pinned> landing = this->landing())
      downloads_->notifier_.notify([landing] { landing->done().wait(); }, then);  // wait() throws its errors
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
  std::unique_ptr<Pinned> landing = free_.take(bytes);
  if (!landing) landing = std::make_unique<Pinned>(stream_, free_.size_for(bytes));
  return {landing.release(),
          [self = Ref<Downloads>(this)](Pinned* given) { self->give_back(std::unique_ptr<Pinned>(given)); }};
}

// The device may still write to the buffer if the transfer was not waited for; the next transfer into it is queued
// after that. A buffer that is not kept must be waited for before it is freed; errors are thrown elsewhere.
void Downloads::give_back(std::unique_ptr<Pinned> landing) {
  free_.give_back(landing, landing->size());
  if (!landing) return;
  try {
    landing->done().wait();
  } catch (const Error&) {}
}

}  // namespace kiln::streams
