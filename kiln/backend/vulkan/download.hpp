// Copies to the host: the device writes into memory that both see, and the thread that waits copies the bytes to their
// destination.
#pragma once
#include <array>
#include <condition_variable>
#include <deque>
#include <memory>
#include <vector>

#include "kiln/backend/vulkan/queue.hpp"

namespace kiln::vulkan {

class Downloads : public RefCounted {
 public:
  Downloads(Ref<Context> context, Ref<Queue> queue);
  /// The thread that waits for others ends by itself, once it has waited for all that was asked of it.
  ~Downloads() override;
  /// Copies the bytes as they are once the commands recorded before are done.
  Ref<gpu::Transfer> start(Place from, std::size_t bytes);

 private:
  friend class Download;
  struct Notified;
  static constexpr std::size_t kSmallest = std::size_t{4} << 10, kLargestKept = std::size_t{64} << 20,
                               kMostKept = std::size_t{256} << 20;

  std::unique_ptr<Buffer> take(std::size_t bytes);
  void give_back(std::unique_ptr<Buffer> landing);
  void notify(std::uint64_t value, Wakeup then);

  const Ref<Context> context_;
  const Ref<Queue> queue_;
  std::mutex mutex_;
  std::array<std::vector<std::unique_ptr<Buffer>>, 32> free_;  // by the power of two that is their size
  std::size_t kept_ = 0;
  std::shared_ptr<Notified> notified_;  // created on first use
};

}  // namespace kiln::vulkan
