#include "kiln/backend/streams/upload.hpp"

#include <algorithm>

#include "kiln/backend/gpu/landing.hpp"

namespace kiln::streams {

void Uploads::upload(std::byte* to, std::span<const std::byte> from) {
  while (!from.empty()) {
    const std::size_t done = upload_piece(to, from);
    to += done;
    from = from.subspan(done);
  }
}

std::size_t Uploads::upload_piece(std::byte* to, std::span<const std::byte> from) {
  constexpr std::size_t kAlignment = 64;
  const std::lock_guard lock(mutex_);
  if (filled_ == kPiece) next_piece();
  const std::size_t bytes = std::min(from.size(), kPiece - filled_);
  std::byte* const stage = ring_.back()->data() + filled_;
  gpu::copy_bytes(stage, from.data(), bytes);
  stream_->check(stream_->api().copy_to_device(address_of(to), stage, bytes, stream_->handle()), "copying ", bytes,
                 " bytes to the device");
  filled_ = std::min((filled_ + bytes + kAlignment - 1) / kAlignment * kAlignment, kPiece);
  return bytes;
}

// The piece that was submitted first, once the device has fetched it; or a new one.
void Uploads::next_piece() {
  if (!ring_.empty()) ring_.back()->done().record();
  if (ring_.size() == kMostPieces) ring_.front()->done().wait();
  if (!ring_.empty() && ring_.front()->done().ready()) {
    ring_.push_back(std::move(ring_.front()));
    ring_.pop_front();
  } else {
    ring_.push_back(std::make_unique<Pinned>(stream_, kPiece));
  }
  filled_ = 0;
}

}  // namespace kiln::streams
