#include "kiln/backend/vulkan/download.hpp"

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
    give_back();
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
    gpu::copy_bytes(to, landing_->data(), bytes_);
    give_back();
  }
  void notify(Wakeup then) override {
    if (ready()) then();
    else
      downloads_->notifier_.notify([context = downloads_->context_, value = value_] { context->wait_for(value); },
                                   then);  // wait() throws its errors
  }

 private:
  void give_back() {
    downloads_->free_.give_back(landing_, landing_->size());
    landing_.reset();
  }

  const Ref<Downloads> downloads_;
  const std::uint64_t value_;
  const std::size_t bytes_;
  std::unique_ptr<Buffer> landing_;  // null once the bytes are fetched: others may use it then
};

Ref<gpu::Transfer> Downloads::start(Place from, std::size_t bytes) {
  std::unique_ptr<Buffer> landing = free_.take(bytes);
  if (!landing) landing = std::make_unique<Buffer>(context_, Buffer::Kind::Landing, free_.size_for(bytes));
  const std::uint64_t value = queue_->download(*landing, from, bytes);
  return make_ref<Download>(Ref<Downloads>(this), std::move(landing), value, bytes);
}

}  // namespace kiln::vulkan
