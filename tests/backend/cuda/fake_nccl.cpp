// libnccl.so.2 among threads of one process, over the fake driver's memory: a call returns at once, and its work is
// done when the streams of all ranks have come to it.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

extern "C" int cuLaunchHostFunc(void*, void (*function)(void*), void* data);

namespace {

constexpr int kInvalidArgument = 4;
struct UniqueId {
  char bytes[128];
};

struct Call {
  enum Kind { Reduce, ReduceScatter, Gather, Broadcast } kind;
  int type, extra;  // how, or the root
  std::size_t count;
  const void* x;
  void* result;
};

/// What all ranks of a group do at their n-th call.
struct Round {
  std::vector<Call> calls;
  std::size_t came = 0;
  bool done = false;
};
struct Collective {
  std::mutex mutex;
  std::condition_variable changed;
  int ranks = 0, joined = 0;
  std::map<std::int64_t, std::shared_ptr<Round>> rounds;
};
struct Group {
  std::shared_ptr<Collective> meeting;
  int rank;
  std::int64_t calls = 0;
  std::promise<void> abort{};
  std::shared_future<void> aborted = abort.get_future().share();
};

std::mutex mutex;  // of what follows
std::map<int, std::shared_ptr<Collective>> running_collectives;
int tickets = 0, calls = 0;
bool waits_in_vain = false;

std::size_t size_of(int type) { return type <= 1 ? 1 : type <= 3 || type == 7 ? 4 : 8; }

template <class T>
void reduce(const std::vector<Call>& all, std::size_t ranks) {
  const std::size_t count = all[0].count * (all[0].kind == Call::ReduceScatter ? ranks : 1);
  for (std::size_t i = 0; i < count; ++i) {
    T sum = static_cast<const T*>(all[0].x)[i];
    for (std::size_t rank = 1; rank < ranks; ++rank) sum = static_cast<T>(sum + static_cast<const T*>(all[rank].x)[i]);
    if (all[0].extra == 4) sum = static_cast<T>(sum / static_cast<T>(ranks));
    if (all[0].kind == Call::ReduceScatter) static_cast<T*>(all[i / all[0].count].result)[i % all[0].count] = sum;
    else
      for (const Call& each : all) static_cast<T*>(each.result)[i] = sum;
  }
}

void run(const std::vector<Call>& all) {
  const std::size_t ranks = all.size(), bytes = all[0].count * size_of(all[0].type);
  switch (all[0].kind) {
    case Call::Gather:
      for (const Call& to : all)
        for (std::size_t rank = 0; rank < ranks; ++rank)
          std::memcpy(static_cast<char*>(to.result) + rank * bytes, all[rank].x, bytes);
      break;
    case Call::Broadcast:
      for (const Call& to : all) std::memcpy(to.result, all[static_cast<std::size_t>(to.extra)].x, bytes);
      break;
    default:
      switch (all[0].type) {
        case 0: return reduce<std::int8_t>(all, ranks);
        case 1: return reduce<std::uint8_t>(all, ranks);
        case 2: return reduce<std::int32_t>(all, ranks);
        case 3: return reduce<std::uint32_t>(all, ranks);
        case 4: return reduce<std::uint64_t>(all, ranks);  // as signed ones wrap around
        case 5: return reduce<std::uint64_t>(all, ranks);
        case 7: return reduce<float>(all, ranks);
        default: return reduce<double>(all, ranks);
      }
  }
}

using Task = std::function<void()>;
void later(void* stream, Task task) {
  cuLaunchHostFunc(
      stream, [](void* task) { (*std::unique_ptr<Task>(static_cast<Task*>(task)))(); }, new Task(std::move(task)));
}

int start_collective(Group& group, const Call& call, void* stream) {
  if (waits_in_vain) {
    later(stream, [aborted = group.aborted] { aborted.wait(); });
    return 0;
  }
  const std::shared_ptr<Collective> meeting = group.meeting;
  std::shared_ptr<Round> round;
  {
    const std::lock_guard lock(meeting->mutex);
    std::shared_ptr<Round>& known = meeting->rounds[group.calls++];
    if (!known) {
      known = std::make_shared<Round>();
      known->calls.resize(static_cast<std::size_t>(meeting->ranks));
    }
    round = known;
    round->calls[static_cast<std::size_t>(group.rank)] = call;
  }
  later(stream, [meeting, round] {
    std::unique_lock lock(meeting->mutex);
    if (++round->came < round->calls.size()) {
      meeting->changed.wait(lock, [&] { return round->done; });
      return;
    }
    run(round->calls);
    {
      const std::lock_guard counting(mutex);
      ++calls;
    }
    round->done = true;
    meeting->changed.notify_all();
  });
  return 0;
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  *version = 22803;
  return 0;
}
const char* ncclGetErrorString(int status) { return status == kInvalidArgument ? "invalid argument" : "no error"; }
const char* ncclGetLastError(void*) { return "the fake one never fails for long"; }
int ncclGetUniqueId(UniqueId* ticket) {
  const std::lock_guard lock(mutex);
  *ticket = {};
  std::memcpy(ticket->bytes, &++tickets, sizeof(tickets));
  return 0;
}
int ncclCommInitRank(Group** group, int ranks, UniqueId ticket, int rank) {
  int number = 0;
  std::memcpy(&number, ticket.bytes, sizeof(number));
  if (number == 0 || rank < 0 || rank >= ranks) return kInvalidArgument;
  std::shared_ptr<Collective> meeting;
  {
    const std::lock_guard lock(mutex);
    auto& known = running_collectives[number];
    if (!known) known = std::make_shared<Collective>();
    meeting = known;
  }
  std::unique_lock lock(meeting->mutex);
  meeting->ranks = ranks;
  if (++meeting->joined == ranks) meeting->changed.notify_all();
  meeting->changed.wait(lock, [&] { return meeting->joined == ranks; });
  *group = new Group{meeting, rank};
  return 0;
}
int ncclCommAbort(Group* group) {
  group->abort.set_value();
  delete group;
  return 0;
}
int ncclAllReduce(const void* x, void* result, std::size_t count, int type, int how, Group* group, void* stream) {
  return start_collective(*group, {Call::Reduce, type, how, count, x, result}, stream);
}
int ncclReduceScatter(const void* x, void* result, std::size_t count, int type, int how, Group* group, void* stream) {
  return start_collective(*group, {Call::ReduceScatter, type, how, count, x, result}, stream);
}
int ncclAllGather(const void* x, void* result, std::size_t count, int type, Group* group, void* stream) {
  return start_collective(*group, {Call::Gather, type, 0, count, x, result}, stream);
}
int ncclBroadcast(const void* x, void* result, std::size_t count, int type, int root, Group* group, void* stream) {
  return start_collective(*group, {Call::Broadcast, type, root, count, x, result}, stream);
}

/// For tests: calls that all ranks of a group came to.
int kiln_fake_nccl_calls() {
  const std::lock_guard lock(mutex);
  return calls;
}

/// For tests: from here on the device waits for ranks that do not come, until it is told to abort; or no longer.
void kiln_fake_nccl_waits_in_vain(int vain) { waits_in_vain = vain; }

}  // extern "C"
