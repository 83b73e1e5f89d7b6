// Copies to the host: the device writes into pinned memory, and the thread that waits copies the bytes to their
// destination.
#pragma once
#include <array>
#include <condition_variable>
#include <deque>
#include <memory>
#include <vector>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/streams/memory.hpp"

namespace kiln::streams {

/// A thread that waits for events in the stream on behalf of others.
class Notifier {
 public:
  Notifier();
  /// The thread ends by itself, once it has waited for all that was requested.
  ~Notifier();
  /// Calls `then` once `landing` is done, or the device has failed.
  void notify(std::shared_ptr<Pinned> landing, Wakeup then);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

class Downloads : public RefCounted {
 public:
  explicit Downloads(Ref<Stream> stream) : stream_(std::move(stream)) {}
  /// Copies the bytes as they are once the work submitted before is done.
  Ref<gpu::Transfer> start(const std::byte* from, std::size_t bytes);

 private:
  friend class Download;
  static constexpr std::size_t kSmallest = std::size_t{4} << 10, kLargestKept = std::size_t{64} << 20,
                               kMostKept = std::size_t{256} << 20;

  std::shared_ptr<Pinned> take(std::size_t bytes);
  void give_back(std::unique_ptr<Pinned> landing);
  void notify(std::shared_ptr<Pinned> landing, Wakeup then);

  const Ref<Stream> stream_;
  std::mutex mutex_;
  std::array<std::vector<std::unique_ptr<Pinned>>, 32> free_;  // by the power of two that is their size
  std::size_t kept_ = 0;
  std::unique_ptr<Notifier> notifier_;  // created on first use
};

}  // namespace kiln::streams
