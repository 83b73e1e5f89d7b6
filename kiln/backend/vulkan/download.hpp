// Copies to the host: the device writes into memory that both see, and the thread that waits copies the bytes to their
// destination.
#pragma once
#include "kiln/backend/gpu/landing.hpp"
#include "kiln/backend/vulkan/queue.hpp"

namespace kiln::vulkan {

class Downloads : public RefCounted {
 public:
  Downloads(Ref<Context> context, Ref<Queue> queue) : context_(std::move(context)), queue_(std::move(queue)) {}
  /// Copies the bytes as they are once the commands recorded before are done.
  Ref<gpu::Transfer> start(Place from, std::size_t bytes);

 private:
  friend class Download;
  const Ref<Context> context_;
  const Ref<Queue> queue_;
  gpu::FreeLandings<Buffer> free_;
  gpu::Notifier notifier_;
};

}  // namespace kiln::vulkan
