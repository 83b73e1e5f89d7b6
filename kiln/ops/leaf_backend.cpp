#include "kiln/ops/leaf_backend.hpp"

#include "kiln/ops/failure.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln {
namespace {

class Arrived final : public PendingRead {
 public:
  explicit Arrived(std::vector<TensorData> data) : data_(std::move(data)) {}
  bool ready() const override { return true; }
  std::vector<TensorData> wait() override { return std::move(data_); }
  void notify(Wakeup then) override { then(); }

 private:
  std::vector<TensorData> data_;
};

}  // namespace

Ref<PendingRead> arrived(std::vector<TensorData> data) { return make_ref<Arrived>(std::move(data)); }

Ref<PendingRead> LeafBackend::start_read(Inputs values) {
  std::vector<TensorData> data;
  for (const Value& value : values) data.push_back(download(value));
  return arrived(std::move(data));
}

void LeafBackend::set_memory_limit(std::int64_t) { fail<DeviceError>(name(), " has no memory that can be limited"); }

void LeafBackend::run_pending(Inputs values) {
  flush();
  if (const Ref<Failure> failure = failure_among(values)) throw_failure(*failure);
}

Backend::State LeafBackend::state(const Value& value) const {
  const Ref<Storage> storage = value.node() ? value.node()->storage : nullptr;
  if (!storage) return State::Arrived;
  return storage->failure() ? State::Failed : storage->ready() ? State::Arrived : State::Waiting;
}

FusionTraits LeafBackend::fusion_traits() const { return {}; }

}  // namespace kiln
