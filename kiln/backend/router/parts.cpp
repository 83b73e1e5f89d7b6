// What a router answers by asking its parts.
#include <algorithm>

#include "kiln/backend/router/routing.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/ops/read.hpp"

namespace kiln {

namespace {

/// A read of some values, beside data that are on the host already.
class BesideHost final : public PendingRead {
 public:
  struct OnHost {
    std::size_t place;  // among all values
    TensorData data;
  };
  BesideHost(Ref<PendingRead> reading, std::vector<OnHost> on_host)
      : reading_(std::move(reading)), on_host_(std::move(on_host)) {}
  bool ready() const override { return reading_->ready(); }
  std::vector<TensorData> wait() override {
    std::vector<TensorData> all = reading_->wait();
    for (OnHost& each : on_host_)  // their places grow
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(each.place), std::move(each.data));
    return all;
  }
  void notify(Wakeup then) override { reading_->notify(then); }

 private:
  const Ref<PendingRead> reading_;
  std::vector<OnHost> on_host_;
};

}  // namespace

using Stage = Routed::Stage;

Router::Router(std::vector<Device> parts, RoutePolicy policy) : parts_(std::move(parts)), policy_(std::move(policy)) {
  (void)is_logged("router");  // checks the names in KILN_LOG
}

std::string Router::name() const {
  std::string name = "router";
  for (const Device& part : parts_) name += text(name.size() == 6 ? ":" : ",", part);
  return name;
}

bool Router::has_kernel(const op::Op& op) const {
  return std::ranges::any_of(parts_, [&](const Device& part) { return part.backend().has_kernel(op); });
}

Ref<Node> Router::upload(TensorData data, const Device& device) {
  auto node = make_ref<Node>(Desc{data.shape(), data.dtype()}, device);
  const auto result = make_ref<Routed>(std::move(data));
  node->storage = result;
  const Device::Place place = device.place();
  if (!place.chosen && parts_.size() > 1) return node;
  const Lock lock(mutex_);
  if (const Ref<Failure> failure = put(*result, std::max<int>(place.part, 0))) throw_failure(*failure);
  result->stays = place.chosen;
  return node;
}

void Router::throw_failed(const Value& value) {
  throw_if_failed(value);
  broken_invariant("a value of a router has been computed", __FILE__, __LINE__);
}

/// Throws the error of a value that failed elsewhere, before anything is begun.
void Router::throw_failed(Inputs values) {
  for (const Value& value : values)
    if (value.node()) (void)routed(value);
}

Backend::State Router::state(const Value& value) const {
  if (!value.node() || !is_routed(value.node()->storage.get())) return LeafBackend::state(value);
  return routed(value).state();
}

TensorData Router::download(const Value& value) {
  if (const Lock lock(mutex_); routed(value).stage == Stage::Host) return *routed(value).host;
  return std::move(start_read({&value, 1})->wait()[0]);
}

/// Whether an operand is still on its way.
bool Router::waits(const Routed& x) {
  const Lock lock(mutex_);
  KILN_CHECK(x.stage != Stage::Waiting || on_their_way_ > 0);
  return x.stage == Stage::Waiting;
}

Ref<PendingRead> Router::start_read(Inputs values) {
  throw_failed(values);
  take_arrivals(false);
  Values there;
  Ref<Failure> lost;
  std::vector<BesideHost::OnHost> on_host;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Routed& x = routed(values[i]);
    while (waits(x)) take_arrivals(true);
    const Lock lock(mutex_);
    if (x.stage == Stage::Lost) lost = joined(lost, x.lost);
    if (x.stage == Stage::Host) on_host.push_back({i, *x.host});  // and it may still go to any part
    else there.push_back(x.value);
  }
  if (lost) return failed_read(std::move(lost));
  Ref<PendingRead> reading = there.empty() ? arrived({}) : kiln::start_read(there);
  return on_host.empty() ? reading : make_ref<BesideHost>(std::move(reading), std::move(on_host));
}

void Router::run_pending(Inputs values) {
  throw_failed(values);
  take_arrivals(false);
  Values there;
  Ref<Failure> lost;
  for (const Value& value : values) {
    if (!value.node()) continue;
    const Routed& x = routed(value);
    if (x.stage == Stage::There) there.push_back(x.value);
    if (x.stage == Stage::Lost) lost = joined(lost, x.lost);
  }
  kiln::run_pending(there);
  if (lost) throw_failure(*lost);
}

void Router::flush() {
  take_arrivals(false);
  for (const Device& part : parts_) part.flush();
}

void Router::sync() {
  while (on_their_way_) take_arrivals(true);
  for (const Device& part : parts_) unreported_.note(attempt([&] { part.sync(); }), Requester::current());
  unreported_.throw_all();
}

MemoryStatistics Router::memory() const {
  using M = MemoryStatistics;
  M sum;
  bool limited = true;
  for (const Device& part : parts_) {
    const M own = part.memory();
    for (const auto each : {&M::in_use, &M::reserved, &M::peak, &M::limit, &M::uploads, &M::results, &M::scratch,
                            &M::packed, &M::requests, &M::system_requests})
      sum.*each += own.*each;
    limited &= own.limit > 0;
  }
  if (!limited) sum.limit = 0;
  return sum;
}

void Router::set_memory_limit(std::int64_t) {
  fail<DeviceError>(name(), " has the memory of its parts; set the limit of one of router_parts()");
}
void Router::reset_memory_peak() {
  for (const Device& part : parts_) part.reset_memory_peak();
}
void Router::release_memory() {
  for (const Device& part : parts_) part.release_memory();
}

Float32Precision::Level Router::float32_precision() const {
  const bool any = std::ranges::any_of(
      parts_, [](const Device& part) { return part.backend().float32_precision() == Float32Precision::High; });
  return any ? Float32Precision::High : Float32Precision::Highest;
}
void Router::set_float32_precision(Float32Precision::Level level) {
  for (const Device& part : parts_) part.backend().set_float32_precision(level);
}

Ref<Backend> Router::with_core(Wrap wrap) {
  std::vector<Device> parts;
  for (const Device& part : parts_) parts.emplace_back(part.backend().with_core(wrap));
  return make_ref<Router>(std::move(parts), policy_);
}

int Router::part_of(const Value& value) const {
  const Routed& x = routed(value);
  return x.stage == Stage::Host ? -1 : x.part;
}

RouterMoves Router::moves() const { return {.count = moved_, .bytes = moved_bytes_}; }

}  // namespace kiln
