#include "kiln/backend/cuda/tune/choices.hpp"

#include <cstdio>
#include <cstring>

#include "kiln/backend/gpu/tune/quickest.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {
namespace {

/// The time between two marks of a stream.
class Watch {
 public:
  explicit Watch(const Stream& stream) : stream_(stream) {
    for (EventHandle& event : events_) stream_.check(stream_.api().event_create(&event, 0), "making an event");
  }
  ~Watch() {
    for (const EventHandle event : events_)
      if (event) stream_.last_api().event_destroy(event);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void mark(int which) {
    stream_.check(stream_.api().event_record(events_[which], stream_.handle()), "recording an event");
  }
  double milliseconds() {
    float took = 0;
    stream_.check(stream_.api().event_synchronize(events_[1]), "waiting for the device");
    stream_.check(stream_.api().event_elapsed(&took, events_[0], events_[1]), "reading a clock");
    return static_cast<double>(took);
  }

 private:
  const Stream& stream_;
  EventHandle events_[2] = {nullptr, nullptr};
};

}  // namespace

Choices::Choices(Ref<Stream> stream, gpu::CodeCache cache)
    : stream_(std::move(stream)),
      cache_(std::move(cache)),
      wanted_(is_set("KILN_AUTOTUNE", false)),
      logs_(is_logged("cuda")) {}

std::string Choices::key(std::span<const std::uint64_t> question, std::size_t version) const {
  std::string key = text("cuBLASLt ", version, " on ", stream_->model(), ", ", architecture_of(*stream_), ':');
  for (const std::uint64_t word : question) key += text(' ', word);
  return key;
}

std::optional<cublas::Algorithm> Choices::find(std::span<const std::uint64_t> question, std::size_t version) const {
  const auto kept = cache_.find(key(question, version));
  if (!kept || kept->size() != sizeof(cublas::Algorithm)) return std::nullopt;
  cublas::Algorithm algorithm;
  std::memcpy(&algorithm, kept->data(), sizeof(algorithm));
  return algorithm;
}

void Choices::keep(std::span<const std::uint64_t> question, std::size_t version,
                   const cublas::Algorithm& algorithm) const {
  cache_.keep(key(question, version), std::as_bytes(std::span(&algorithm, 1)));
}

std::optional<int> Choices::quickest(int count, FunctionRef<bool(int)> run) const {
  Watch watch(*stream_);
  const std::optional<gpu::Quickest> found = gpu::quickest(count, run, [&](FunctionRef<void()> work) {
    watch.mark(0);
    work();
    watch.mark(1);
    return watch.milliseconds();
  });
  if (!found) return std::nullopt;
  if (logs_) {
    const auto which = static_cast<std::size_t>(found->which);
    std::fprintf(stderr, "kiln: %s: of %d algorithms number %d takes %.4f ms, the first %.4f\n",
                 stream_->device().c_str(), count, found->which, found->milliseconds[which], found->milliseconds[0]);
  }
  return found->which;
}

}  // namespace kiln::cuda
