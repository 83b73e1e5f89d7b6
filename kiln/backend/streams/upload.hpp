// Copies to the device through a ring of pinned memory: the bytes are in the ring when upload() returns, and the device
// fetches them later.
#pragma once
#include <deque>
#include <memory>
#include <span>

#include "kiln/backend/streams/memory.hpp"

namespace kiln::streams {

class Uploads {
 public:
  static constexpr std::size_t kPiece = std::size_t{4} << 20;
  static constexpr std::size_t kMostPieces = 8;

  explicit Uploads(Ref<Stream> stream) : stream_(std::move(stream)) {}
  /// Waits only while the device has yet to fetch as much as the ring holds. Uploads of several threads do not mix, but
  /// their pieces may alternate.
  void upload(std::byte* to, std::span<const std::byte> from);

 private:
  std::size_t upload_piece(std::byte* to, std::span<const std::byte> from);
  void next_piece();

  const Ref<Stream> stream_;
  std::mutex mutex_;
  std::deque<std::unique_ptr<Pinned>>
      ring_;  // the last is being filled; those before are being copied, the oldest first
  std::size_t filled_ = kPiece;
};

}  // namespace kiln::streams
