// Copies to the host: the device writes into pinned memory, and the thread that waits copies the bytes to their
// destination.
#pragma once
#include <memory>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/gpu/landing.hpp"
#include "kiln/backend/streams/memory.hpp"

namespace kiln::streams {

class Downloads : public RefCounted {
 public:
  explicit Downloads(Ref<Stream> stream) : stream_(std::move(stream)) {}
  /// Copies the bytes as they are once the work submitted before is done.
  Ref<gpu::Transfer> start(const std::byte* from, std::size_t bytes);

 private:
  friend class Download;
  std::shared_ptr<Pinned> take(std::size_t bytes);
  void give_back(std::unique_ptr<Pinned> landing);

  const Ref<Stream> stream_;
  gpu::FreeLandings<Pinned> free_;
  gpu::Notifier notifier_;
};

}  // namespace kiln::streams
