#include "kiln/backend/cuda/tune/choices.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {
namespace {

constexpr int kRounds = 3;      // each algorithm runs in each round, so that a device that warms up favours none
constexpr int kRuns = 4;        // per round
constexpr double kEnough = 50;  // ms per run, beyond which a single run is enough
constexpr double kGain = 0.98;  // relative to the time of an earlier one, which cuBLASLt prefers

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
  std::string key = text("cuBLASLt ", version, " on ", stream_->model(), ", ", stream_->architecture(), ':');
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
  struct Contender {
    int which;
    double best;
  };
  std::vector<Contender> contenders;
  for (int i = 0; i < count; ++i) {
    if (!run(i)) continue;  // a warm-up run
    watch.mark(0);
    run(i);
    watch.mark(1);
    contenders.push_back({i, watch.milliseconds()});
  }
  if (contenders.empty()) return std::nullopt;
  const bool slow = std::ranges::any_of(contenders, [](const Contender& each) { return each.best > kEnough; });
  for (int round = 0; round < (slow ? 0 : kRounds); ++round)
    for (Contender& each : contenders) {
      watch.mark(0);
      for (int i = 0; i < kRuns; ++i) run(each.which);
      watch.mark(1);
      each.best = std::min(each.best, watch.milliseconds() / kRuns);
    }
  const Contender* best = &contenders[0];
  for (const Contender& each : contenders)
    if (each.best < kGain * best->best) best = &each;
  if (logs_)
    std::fprintf(stderr, "kiln: %s: of %zu algorithms number %d takes %.4f ms, the first %.4f\n",
                 stream_->device().c_str(), contenders.size(), best->which, best->best, contenders[0].best);
  return best->which;
}

}  // namespace kiln::cuda
