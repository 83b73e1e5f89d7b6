#include "kiln/backend/streams/memory.hpp"

namespace kiln::streams {

std::byte* DeviceMemory::map(std::size_t bytes) {
  Address address = 0;
  const Result result = stream_->api().memory_alloc(&address, bytes);
  if (result == kOutOfMemory) return nullptr;
  stream_->check(result, "allocating ", bytes, " bytes");
  return reinterpret_cast<std::byte*>(address);
}

bool DeviceMemory::unmap(std::byte* start, std::size_t) {
  bool freed = false;
  try {
    return when_done_([&] { freed = stream_->api().memory_free(address_of(start)) == kSuccess; }) && freed;
  } catch (...) { return false; }  // of a lost device, which later reads throw
}

Workspace::~Workspace() {
  if (!address_) return;
  stream_->last_api().memory_free(address_);
  if (counts()) budget_.give_back(bytes_);
}

bool Workspace::reserve(std::size_t bytes) {
  if (address_) return bytes_ >= bytes;
  const DriverApi& api = stream_->api();  // throws where the device is lost
  if (counts() && !budget_.take(bytes)) return false;
  if (api.memory_alloc(&address_, bytes) == kSuccess) {
    bytes_ = bytes;
    return true;
  }
  address_ = 0;
  if (counts()) budget_.cancel(bytes);
  return false;
}

Pinned::Pinned(Ref<Stream> stream, std::size_t bytes) : stream_(std::move(stream)), size_(bytes), done_(stream_) {
  void* memory = nullptr;
  stream_->check(stream_->api().host_alloc(&memory, bytes, kHostAllocPortable), "allocating ", bytes,
                 " bytes of the host's memory for copies");
  data_ = static_cast<std::byte*>(memory);
}

Pinned::~Pinned() { stream_->last_api().host_free(data_); }

}  // namespace kiln::streams
