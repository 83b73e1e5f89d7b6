#include "kiln/backend/gpu/order/own_stream.hpp"

#include <list>
#include <mutex>
#include <thread>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/failure.hpp"

namespace kiln::gpu {
namespace {

/// Pools that stay until the program ends.
struct KeptPools {
  std::mutex mutex;
  std::list<Ref<Pool>> all;
};
KeptPools& kept_pools() {
  static auto& kept = *new KeptPools;
  return kept;
}

class OwnStream final : public OpenStream {
 public:
  explicit OwnStream(Ref<Pool> pool)
      : pool_(std::move(pool)), number_(pool_->order().open()), here_(pool_->driver(), number_) {}
  // A device that fails here fails again for whoever reads from it.
  ~OwnStream() override {
    without_errors([&] { pool_->order().close(number_); });
    if (std::this_thread::get_id() == thread_) return;
    // The thread in which it began remembers the device by its driver's address, which must not become another's.
    const std::lock_guard lock(kept_.mutex);
    kept_.all.splice(kept_.all.end(), own_);
  }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  KeptPools& kept_ = kept_pools();
  const Ref<Pool> pool_;
  std::list<Ref<Pool>> own_{pool_};  // a place among them, which the destructor need not ask for
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
