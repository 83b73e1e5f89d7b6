#include "kiln/ops/read.hpp"

#include <algorithm>
#include <atomic>

#include "kiln/ops/leaf_backend.hpp"

namespace kiln {
namespace {

/// A read from several devices.
class Joined : public PendingRead {
 public:
  struct ReadPart {
    Device device;
    std::vector<Value> values;
    std::vector<std::size_t> places;  // the values' indices in the result
    Ref<PendingRead> reading;
  };
  Joined(std::vector<ReadPart> parts, std::size_t count) : parts_(std::move(parts)), count_(count) {}

  bool ready() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const ReadPart& part) { return part.reading->ready(); });
  }
  std::vector<TensorData> wait() override {
    std::vector<TensorData> all(count_);
    for (ReadPart& part : parts_) {
      std::vector<TensorData> data = part.reading->wait();
      for (std::size_t i = 0; i < data.size(); ++i) all[part.places[i]] = std::move(data[i]);
    }
    return all;
  }
  void notify(Wakeup then) override {
    struct Countdown {
      std::atomic<std::size_t> left;
      Wakeup then;
    };
    auto* countdown = new Countdown{parts_.size(), then};
    const auto one_arrived = [](void* argument) {
      auto* each = static_cast<Countdown*>(argument);
      if (each->left.fetch_sub(1) > 1) return;
      const Wakeup last = each->then;
      delete each;
      last();
    };
    for (ReadPart& part : parts_) part.reading->notify({one_arrived, countdown});
  }

 private:
  std::vector<ReadPart> parts_;
  std::size_t count_;
};

}  // namespace

Ref<PendingRead> start_read(Inputs values) {
  std::vector<Joined::ReadPart> parts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    require<ArgumentError>(!values[i].empty(), "read: value ", i, " is empty");
    const Device device = values[i].device();  // empty for a plain number
    auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& each) { return each.device == device; });
    if (part == parts.end()) {
      parts.push_back({.device = device, .values = {}, .places = {}, .reading = {}});
      part = std::prev(parts.end());
    }
    part->values.push_back(values[i]);
    part->places.push_back(i);
  }
  for (Joined::ReadPart& part : parts) {
    if (part.device) {
      part.reading = part.device.backend().start_read(part.values);
      continue;
    }
    std::vector<TensorData> numbers;
    for (const Value& number : part.values) numbers.push_back(number.data());
    part.reading = arrived(std::move(numbers));
  }
  if (parts.size() == 1) return parts[0].reading;
  return make_ref<Joined>(std::move(parts), values.size());
}

void run_pending(Inputs values) {
  for (std::size_t first = 0, end = 0; first < values.size(); first = end) {
    const Device device = values[first].device();  // empty for a plain number
    while (end < values.size() && values[end].device() == device) ++end;
    if (device) device.backend().run_pending(values.subspan(first, end - first));
  }
}

Future<TensorData> read_async(const Value& value) {
  return {start_read({&value, 1}), [](std::vector<TensorData> data) { return std::move(data[0]); }};
}
Future<std::vector<TensorData>> read_async(Inputs values) {
  return {start_read(values), [](std::vector<TensorData> data) { return data; }};
}
std::vector<TensorData> read(Inputs values) { return start_read(values)->wait(); }

}  // namespace kiln
