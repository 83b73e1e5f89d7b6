#include "kiln/backend/webgpu/download.hpp"

#include <cstring>
#include <utility>

#include "kiln/core/error/shown.hpp"

namespace kiln::webgpu {

// ---- one copy ------------------------------------------------------------------------------------------------------

void Landing::answer(std::uint32_t status, Words words, void* to, void*) {
  const std::unique_ptr<std::shared_ptr<Answer>> answer(static_cast<std::shared_ptr<Answer>*>(to));
  Answer& given = **answer;
  {
    const std::lock_guard lock(given.mutex);
    given.words = escaped(words.view(), true);
  }
  given.state = status == kSuccess ? 1 : 2;
}

void Landing::ask(std::uint64_t bytes) {
  asked_ = bytes;
  free_ = false;
  answer_ = std::make_shared<Answer>();
  session_->functions().map(buffer_.handle(), kMapForReading, 0, bytes,
                            {.call = &answer, .to = new std::shared_ptr<Answer>(answer_)});
}

bool Landing::ready() const {
  if (answer_->state == 0) session_->process_events();
  return answer_->state != 0 || session_->is_lost();
}

void Landing::fetch(FunctionRef<void(const std::byte*)> use) {
  session_->wait([&] { return answer_->state != 0; });
  if (answer_->state == 2) {
    session_->check();
    const std::lock_guard lock(answer_->mutex);
    fail<DeviceError>("webgpu: ", asked_, " bytes cannot be read: ", answer_->words);
  }
  const std::byte* bytes = nullptr;
  {
    const std::lock_guard lock(session_->mutex());
    bytes = static_cast<const std::byte*>(session_->functions().mapped(buffer_.handle(), 0, asked_));
  }
  if (bytes) use(bytes);
  {
    const std::lock_guard lock(session_->mutex());
    session_->functions().unmap(buffer_.handle());
  }
  require<DeviceError>(bytes != nullptr, "webgpu: ", asked_, " bytes were read, and cannot be seen");
  free_ = true;
  session_->check();
}

void Landing::settle() noexcept {
  if (!answer_) return;
  try {
    session_->wait([&] { return answer_->state != 0; });
  } catch (const Error&) {}
}

class Download final : public gpu::Transfer {
 public:
  Download(Ref<Downloads> downloads, std::shared_ptr<Landing> landing, std::size_t skipped, std::size_t bytes)
      : downloads_(std::move(downloads)), landing_(std::move(landing)), skipped_(skipped), bytes_(bytes) {}

  bool ready() const override {
    const std::shared_ptr<Landing> landing = this->landing();
    return !landing || landing->ready();
  }
  void wait(std::byte* to) override {
    const std::shared_ptr<Landing> landing = this->landing();
    KILN_CHECK(landing != nullptr);
    landing->fetch([&](const std::byte* from) { std::memcpy(to, from + skipped_, bytes_); });
    const std::lock_guard lock(mutex_);
    landing_ = nullptr;
  }
  void notify(Wakeup then) override {
    if (std::shared_ptr<Landing> landing = this->landing())
      downloads_->notifier_.notify([landing] { landing->settle(); }, then);  // wait() throws its errors
    else then();
  }

 private:
  std::shared_ptr<Landing> landing() const {
    const std::lock_guard lock(mutex_);
    return landing_;
  }

  const Ref<Downloads> downloads_;
  mutable std::mutex mutex_;
  std::shared_ptr<Landing> landing_;  // null once the bytes are fetched: others may use it then
  const std::size_t skipped_, bytes_;
};

// ---- all of them ---------------------------------------------------------------------------------------------------

// Copies are of whole words, and blocks of memory consist of whole words.
Ref<gpu::Transfer> Downloads::start(std::uint64_t from, std::size_t bytes) {
  const std::size_t skipped = from % 4, words = (skipped + bytes + 3) / 4 * 4;
  std::shared_ptr<Landing> landing = take(words);
  recorder_.copy({landing->buffer().handle(), 0, words}, memory_.find(from - skipped, words), words);
  recorder_.flush_and([&] { landing->ask(words); });
  session_->check();
  return make_ref<Download>(Ref<Downloads>(this), std::move(landing), skipped, bytes);
}

std::shared_ptr<Landing> Downloads::take(std::size_t bytes) {
  std::unique_ptr<Landing> landing = free_.take(bytes);
  if (!landing) landing = std::make_unique<Landing>(session_, free_.size_for(bytes));
  return {landing.release(),
          [self = Ref<Downloads>(this)](Landing* given) { self->give_back(std::unique_ptr<Landing>(given)); }};
}

// A copy that nobody waited for leaves its buffer mapped, or about to be: such a buffer is released.
void Downloads::give_back(std::unique_ptr<Landing> landing) {
  if (landing->is_free()) free_.give_back(landing, landing->buffer().size());
}

}  // namespace kiln::webgpu
