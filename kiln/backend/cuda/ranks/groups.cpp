#include "kiln/backend/cuda/ranks/groups.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {
namespace {

// How long a device may wait for a rank that has gone.
constexpr auto kPatience = std::chrono::seconds(2);

/// What each rank tells the others before they join.
struct Introduction {
  nccl::UniqueId unique_id;  // from rank 0, for all
  DeviceId device;
  int version;  // version of NCCL; 0: not available
};

/// The version of NCCL that this rank offers; 0 if it has none or KILN_NCCL disables it.
int own_version(const Communicator& among) {
  const char* const wish = setting("KILN_NCCL");
  const std::string_view said = wish ? wish : "";
  if (said == "0" || (among.size() == 1 && said != "1")) return 0;
  int version = 0;
  try {
    if (nccl::api().get_version(&version) != 0) return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "kiln: ranks meet on the host: %s\n", error.what());
    return 0;
  }
  return version;
}

/// Why these ranks cannot form a group; empty if they can.
std::string reason_against(const std::vector<Introduction>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].version == 0) return text("rank ", rank, " has no NCCL");
    if (all[rank].version != all[0].version)
      return text("rank ", rank, " has NCCL ", all[rank].version, ", rank 0 ", all[0].version);
    for (std::size_t other = 0; other < rank; ++other)
      if (all[rank].device == all[other].device) return text("ranks ", other, " and ", rank, " have one GPU");
  }
  return "";
}

int nccl_type_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return nccl::kFloat64;
    case DType::F32: return nccl::kFloat32;
    case DType::I64: return nccl::kInt64;
    case DType::I32: return nccl::kInt32;
    case DType::I8: return nccl::kInt8;
    case DType::U64: return nccl::kUint64;
    case DType::U32: return nccl::kUint32;
    default: return nccl::kUint8;
  }
}

}  // namespace

NcclGroups::NcclGroups(Ref<Stream> stream) : stream_(std::move(stream)) {}

// Waits for the device's collectives for a limited time. Groups are aborted rather than finalized, since other ranks
// may have gone by now.
NcclGroups::~NcclGroups() {
  stream_->watch(nullptr);
  const auto end = Clock::now() + kPatience;
  const auto is_over = [&] { return running_.empty() || running_.back().done->ready(); };
  while (!is_over() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (const auto& [number, known] : known_)
    if (known.group) nccl::api().abort(known.group);
}

void NcclGroups::forget_ended_collectives() {
  for (; !running_.empty() && running_.front().done->ready(); running_.pop_front()) {
    spare_events_.push_back(std::move(running_.front().reached));
    spare_events_.push_back(std::move(running_.front().done));
  }
}

bool NcclGroups::is_running(std::int64_t among) const {
  return std::ranges::any_of(running_, [&](const RunningCollective& each) { return each.among == among; });
}

void NcclGroups::forget_ended_groups() {
  forget_ended_collectives();
  std::erase_if(known_, [&](const auto& each) {
    const auto& [number, known] = each;
    if (!known.among.expired() || is_running(number)) return false;
    if (known.group) nccl::api().abort(known.group);
    return true;
  });
}

// A rank that has ended may have done its part of a collective that others are still in, so they get some time to
// finish it.
void NcclGroups::look() {
  const std::lock_guard lock(mutex_);
  forget_ended_collectives();
  if (running_.empty() || !running_.front().reached->ready()) return;
  RunningCollective& first = running_.front();
  const auto known = known_.find(first.among);
  const Ranks among = known == known_.end() ? nullptr : known->second.among.lock();
  if (!among || !known->second.group) return;
  const std::optional<std::string> missing = among->missing();
  if (!missing) return;
  if (!first.stuck_since) first.stuck_since = Clock::now();
  if (Clock::now() - *first.stuck_since < kPatience) return;
  stream_->lose(text("it waited for ranks of which one is missing: ", *missing));
  known->second.lost = true;
  nccl::api().abort(std::exchange(known->second.group, nullptr));
}

bool NcclGroups::joins(Communicator& among) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(among.number());
    if (known != known_.end()) {
      require<DeviceError>(!known->second.lost, stream_->device(),
                           ": its ranks do not meet any more, since one is missing");
      return known->second.group != nullptr;
    }
    forget_ended_groups();
  }
  const nccl::Group group = join(among);
  const std::lock_guard lock(mutex_);
  KnownGroup& known = known_[among.number()];
  known.among = among.weak_from_this();
  known.group = group;
  if (!group) return false;
  if (!side_) side_.emplace(stream_);
  stream_->watch([this] { look(); });
  return true;
}

nccl::Group NcclGroups::join(Communicator& among) {
  Introduction own{};
  own.device = stream_->id();
  own.version = own_version(among);
  if (among.rank() == 0 && own.version && nccl::api().get_unique_id(&own.unique_id) != 0) own.version = 0;
  std::vector<Introduction> all(static_cast<std::size_t>(among.size()));
  Communicator::Places places;
  for (Introduction& each : all) places.push_back(std::as_writable_bytes(std::span(&each, 1)));
  among.exchange("GPUs get to know each other", Communicator::Pieces(all.size(), std::as_bytes(std::span(&own, 1))),
                 places);
  const std::string against = reason_against(all);
  if (is_logged("cuda") && among.rank() == 0)
    std::fprintf(stderr, "kiln: %s: %d ranks meet %s%s\n", stream_->device().c_str(), among.size(),
                 against.empty() ? "by NCCL" : "on the host: ", against.c_str());
  if (!against.empty()) return nullptr;
  nccl::Group group = nullptr;
  stream_->api();
  check(nccl::api().init_rank(&group, among.size(), all[0].unique_id, among.rank()), nullptr, "joining the ranks");
  return group;
}

void NcclGroups::check(nccl::Status status, nccl::Group group, const char* doing) const {
  if (status == 0) return;
  const nccl::Api& api = nccl::api();
  const char* const more = api.get_last_error ? api.get_last_error(group) : "";
  fail<DeviceError>(stream_->device(), ": NCCL, ", doing, ": ", api.get_error_string(status), more && *more ? ": " : "",
                    more ? more : "");
}

std::unique_ptr<Event> NcclGroups::take_event() {
  if (spare_events_.empty()) return std::make_unique<Event>(stream_);
  std::unique_ptr<Event> event = std::move(spare_events_.back());
  spare_events_.pop_back();
  return event;
}

std::uint64_t NcclGroups::start_collective(Communicator& among, const gpu::Collective& collective) {
  using Kind = gpu::Collective::Kind;
  const nccl::Api& api = nccl::api();
  RunningCollective under_way{.among = among.number()};
  const nccl::Group group = [&] {
    const std::lock_guard lock(mutex_);
    forget_ended_collectives();
    under_way.reached = take_event();
    under_way.done = take_event();
    return known_.at(among.number()).group;
  }();
  const StreamHandle stream = side_->handle();
  under_way.reached->record();  // when x is ready, and all earlier uses of the result's memory are done
  under_way.reached->wait_in(stream);
  under_way.reached->record(stream);
  static const std::string kName = "NCCL";
  stream_->note(kName);
  const auto count = static_cast<std::size_t>(collective.count), bytes = count * size_of(collective.dtype);
  const int type = nccl_type_of(collective.dtype);
  const auto asked = [&]() -> std::pair<nccl::Status, const char*> {
    switch (collective.kind) {
      case Kind::Sum:
      case Kind::Mean:
        return {api.all_reduce(collective.x, collective.result, count, type,
                               collective.kind == Kind::Sum ? nccl::kSum : nccl::kAverage, group, stream),
                "adding what ranks have"};
      case Kind::SumParts:
        return {api.reduce_scatter(collective.x, collective.result, count, type, nccl::kSum, group, stream),
                "adding parts of what ranks have"};
      case Kind::Gather:
        return {api.all_gather(collective.x, collective.result, bytes, nccl::kUint8, group, stream),
                "gathering what ranks have"};
      case Kind::Send:
        return {api.broadcast(collective.x, collective.result, bytes, nccl::kUint8, collective.root, group, stream),
                "sending what a rank has"};
    }
    return {};
  };
  const auto [status, doing] = asked();
  check(status, group, doing);
  under_way.done->record(stream);
  const std::lock_guard lock(mutex_);
  under_way.number = ++collectives_;
  running_.push_back(std::move(under_way));
  return collectives_;
}

void NcclGroups::wait_for_collective(std::uint64_t collective) {
  const std::lock_guard lock(mutex_);
  const auto after = std::ranges::upper_bound(running_, collective, {}, &RunningCollective::number);
  if (after != running_.begin()) std::prev(after)->done->wait_in(stream_->handle());
}

}  // namespace kiln::cuda
