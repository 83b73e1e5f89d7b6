#include "kiln/backend/gpu/order/own_stream.hpp"

#include <mutex>
#include <thread>
#include <vector>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/failure.hpp"

namespace kiln::gpu {
namespace {

class OwnStream final : public OpenStream {
 public:
  explicit OwnStream(Ref<Pool> pool)
      : pool_(std::move(pool)), number_(pool_->order().open()), here_(pool_->driver(), number_) {}
  // A device that fails here fails again for whoever reads from it.
  ~OwnStream() override {
    (void)attempt([&] { pool_->order().close(number_); });
    if (std::this_thread::get_id() != thread_) keep(pool_);
  }

 private:
  /// The thread in which it began remembers the device by its driver's address, which must not become another's.
  static void keep(const Ref<Pool>& pool) {
    static std::mutex mutex;
    static auto& all = *new std::vector<Ref<Pool>>;
    const std::lock_guard lock(mutex);
    all.push_back(pool);
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  const Ref<Pool> pool_;
  const int number_;
  const OnStream here_;
};

}  // namespace

Ref<OpenStream> open_stream(const Device& device) {
  auto* const gpu = dynamic_cast<Gpu*>(&device.backend().core());
  if (!gpu || !gpu->driver().streams()) return nullptr;
  return make_ref<OwnStream>(gpu->pool());
}

}  // namespace kiln::gpu
