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

// How long a device is left alone that waits for a rank which has gone.
constexpr auto kPatience = std::chrono::seconds(2);

/// What each rank tells the others before they join.
struct Introduction {
  nccl::Ticket ticket;  // of rank 0, for all
  DeviceId device;
  int version;  // of NCCL; 0: none
};

/// The version that this rank brings; 0 where it has none or wants none.
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

/// Why these ranks do not join; empty where they do.
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

Groups::Groups(Ref<Stream> stream) : stream_(std::move(stream)) {}

// What the device still does is waited for, if it comes to an end; others may have gone by now, so it is no goodbye among all.
Groups::~Groups() {
  stream_->watch(nullptr);
  const auto end = Clock::now() + kPatience;
  for (const auto& [number, known] : known_) {
    while (known.is_under_way() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (known.group) nccl::api().abort(known.group);
  }
}

void Groups::forget_ended() {
  std::erase_if(known_, [](const auto& each) {
    const Known& known = each.second;
    if (!known.among.expired() || known.is_under_way()) return false;
    if (known.group) nccl::api().abort(known.group);
    return true;
  });
}

// Who has come to the end of its program may have done its part of a meeting that the others still are in: they get through.
void Groups::look() {
  const std::lock_guard lock(mutex_);
  for (auto& [number, known] : known_) {
    const Ranks among = known.among.lock();
    if (!among || !known.group || !known.is_under_way() || !known.reached->ready()) continue;
    const std::optional<std::string> missing = among->missing();
    if (!missing) continue;
    if (!known.stuck_since) known.stuck_since = Clock::now();
    if (Clock::now() - *known.stuck_since < kPatience) continue;
    stream_->lose(text("it waited for ranks of which one is missing: ", *missing));
    nccl::api().abort(std::exchange(known.group, nullptr));
  }
}

bool Groups::joins(Communicator& among) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(among.number());
    if (known != known_.end()) {
      require<DeviceError>(known->second.group || !known->second.done, stream_->device(),
                           ": its ranks do not meet any more, since one is missing");
      return known->second.group != nullptr;
    }
    forget_ended();
  }
  const nccl::Group group = join(among);
  const std::lock_guard lock(mutex_);
  Known& known = known_[among.number()];
  known.among = among.weak_from_this();
  known.group = group;
  if (!group) return false;
  known.reached = std::make_unique<Event>(stream_);
  known.done = std::make_unique<Event>(stream_);
  stream_->watch([this] { look(); });
  return true;
}

nccl::Group Groups::join(Communicator& among) {
  Introduction own{};
  own.device = stream_->id();
  own.version = own_version(among);
  if (among.rank() == 0 && own.version && nccl::api().get_unique_id(&own.ticket) != 0) own.version = 0;
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
  check(nccl::api().init_rank(&group, among.size(), all[0].ticket, among.rank()), nullptr, "joining the ranks");
  return group;
}

void Groups::check(nccl::Status status, nccl::Group group, const char* doing) const {
  if (status == 0) return;
  const nccl::Api& api = nccl::api();
  const char* const more = api.get_last_error ? api.get_last_error(group) : "";
  fail<DeviceError>(stream_->device(), ": NCCL, ", doing, ": ", api.get_error_string(status), more && *more ? ": " : "",
                    more ? more : "");
}

void Groups::meet(Communicator& among, const gpu::Meeting& meeting) {
  using Kind = gpu::Meeting::Kind;
  const nccl::Api& api = nccl::api();
  const nccl::Group group = [&] {
    const std::lock_guard lock(mutex_);
    Known& known = known_.at(among.number());
    known.reached->record();
    known.stuck_since.reset();
    return known.group;
  }();
  static const std::string kName = "NCCL";
  stream_->note(kName);
  const auto count = static_cast<std::size_t>(meeting.count), bytes = count * size_of(meeting.dtype);
  const int type = nccl_type_of(meeting.dtype);
  const StreamHandle stream = stream_->handle();
  const auto asked = [&]() -> std::pair<nccl::Status, const char*> {
    switch (meeting.kind) {
      case Kind::Sum:
      case Kind::Mean:
        return {api.all_reduce(meeting.x, meeting.result, count, type,
                               meeting.kind == Kind::Sum ? nccl::kSum : nccl::kAverage, group, stream),
                "adding what ranks have"};
      case Kind::SumParts:
        return {api.reduce_scatter(meeting.x, meeting.result, count, type, nccl::kSum, group, stream),
                "adding parts of what ranks have"};
      case Kind::Gather:
        return {api.all_gather(meeting.x, meeting.result, bytes, nccl::kUint8, group, stream),
                "gathering what ranks have"};
      case Kind::Send:
        return {api.broadcast(meeting.x, meeting.result, bytes, nccl::kUint8, meeting.root, group, stream),
                "sending what a rank has"};
    }
    return {};
  };
  const auto [status, doing] = asked();
  check(status, group, doing);
  const std::lock_guard lock(mutex_);
  known_.at(among.number()).done->record();
}

}  // namespace kiln::cuda
