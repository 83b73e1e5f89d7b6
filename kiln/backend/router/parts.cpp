// What a router answers by asking its parts.
#include <algorithm>

#include "kiln/backend/router/routing.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/ops/read.hpp"

namespace kiln {

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
  const auto data_there = std::make_shared<const TensorData>(std::move(data));
  const Device host = Device::cpu();
  TensorData lent = TensorData::lent(node->desc.shape, node->desc.dtype, data_there->bytes(), data_there);
  const auto result = make_ref<Routed>(Value(host.backend().upload(std::move(lent), host)));
  node->storage = result;
  const Device::Place place = device.place();
  if (!place.chosen && parts_.size() > 1) return node;
  const Lock lock(mutex_);
  put(*result, std::max<int>(place.part, 0));
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

Ref<PendingRead> Router::start_read(Inputs values) {
  throw_failed(values);
  take_arrivals(false);
  Values there;
  Ref<Failure> lost;
  for (const Value& value : values) {
    const Routed& x = routed(value);
    await([&] { return x.stage != Stage::Waiting; });
    const Lock lock(mutex_);
    lost = joined(lost, x.lost);
    there.push_back(x.stage == Stage::Host ? x.host : x.value);
  }
  return lost ? failed_read(std::move(lost)) : kiln::start_read(there);
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
  await([&] { return arrivals_.empty(); });
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

}  // namespace kiln
