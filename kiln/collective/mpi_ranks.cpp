#include "kiln/collective/mpi_ranks.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kiln/collective/rank_watch.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

constexpr int kWordTag = 1, kPieceTag = 2;
constexpr std::size_t kMaxMessage = 1000;            // of a message between ranks
constexpr std::size_t kPart = std::size_t{1} << 30;  // MPI counts bytes in int
constexpr char kEnters = 'c', kLeaves = 'l';         // the first letter of a message
constexpr char kReports = 't';                       // leaves because another rank has ended without a message

void checked(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return;
  char message[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, message, &length);
  fail<IoError>(what, ": MPI says: ", std::string_view(message, static_cast<std::size_t>(length)));
}

using Clock = std::chrono::steady_clock;

/// Polls until a deadline: quickly at first, then with pauses that leave the CPU to others.
class Backoff {
 public:
  explicit Backoff(double seconds)
      : began_(Clock::now()),
        end_(began_ + std::chrono::duration_cast<Clock::duration>(Seconds(std::min(seconds, 1e9)))) {}
  /// Returns false when the time is over.
  bool wait() const {
    using namespace std::chrono_literals;
    const auto now = Clock::now();
    if (now >= end_) return false;
    if (now - began_ < 1ms) std::this_thread::yield();
    else std::this_thread::sleep_for(std::min<Clock::duration>((now - began_) / 16, 1ms));
    return true;
  }

 private:
  using Seconds = std::chrono::duration<double>;
  Clock::time_point began_, end_;
};

// Ranks send each other a message before each exchange, and a last one when they leave.
struct Sent {
  std::string message;
  MPI_Request request = MPI_REQUEST_NULL;
};
struct Peer {
  char heard[kMaxMessage + 1];
  MPI_Request request = MPI_REQUEST_NULL;
  std::optional<std::string> left;
};

class MpiRank final : public Communicator {
 public:
  MpiRank(MPI_Comm all, int rank, const std::vector<RankProcess>& processes, double timeout)
      : Communicator(rank, static_cast<int>(processes.size())),
        all_(all),
        timeout_(timeout),
        peers_(processes.size()),
        watch_(rank, processes, [this](int other) { report_end(other); }) {}

  void exchange(std::string_view what, const Pieces& pieces, const Places& places) override {
    const std::lock_guard lock(mutex_);
    if (gone_) fail<IoError>(what, ": this rank has left: ", *gone_);
    what = what.substr(0, kMaxMessage - 1);
    send(text(kEnters, what));
    receive(what);
    for_others([&](int rank) {
      const std::string_view there(peer(rank).heard + 1);
      if (there != what) collective::fail_different_call(what, rank, there);
    });
    carry(what, pieces, places);
  }

  void leave(std::string_view reason) override {
    const std::lock_guard lock(mutex_);
    leave_with(reason);
  }
  std::optional<std::string> missing() override {
    const int ended = watch_.first_ended();
    if (ended < 0) return std::nullopt;
    return collective::leaving_text(ended, collective::kNoMessage);
  }

  /// Leaves, and returns true when all other ranks have left as well: then nothing is being sent, and MPI can be
  /// finalised.
  bool part(std::string_view reason) {
    const std::lock_guard lock(mutex_);
    leave_with(reason);
    const Backoff patience(timeout_);
    do {
      bool all = true;
      for_others([&](int rank) {
        Peer& other = peer(rank);
        const bool ended = watch_.has_ended(rank);
        while (!other.left && heard(rank)) {}
        all = all && other.left;
        lost_ = lost_ || (ended && !other.left);
      });
      if (all && !lost_) {
        watch_.stop();
        return true;
      }
    } while (!lost_ && patience.wait());
    return false;
  }

 private:
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  template <class F>
  void for_others(F f) {
    for (int other = 0; other < size(); ++other)
      if (other != rank()) f(other);
  }

  void send(const std::string& message) {
    sent_.remove_if([](Sent& sent) {
      int done = 0;
      MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
    for_others([&](int rank) {
      Sent& sent = sent_.emplace_back(Sent{message});
      checked(MPI_Isend(sent.message.data(), static_cast<int>(message.size()), MPI_BYTE, rank, kWordTag, all_,
                        &sent.request),
              "mpi");
    });
  }

  /// Runs on the watch's thread, as a training step may take longer than the launcher lets this process live after
  /// another one has ended. Prints once on each machine. Does nothing once this rank leaves: processes end normally
  /// after all ranks have left.
  void report_end(int ended) {
    if (leaves_) return;
    for (int other = 0; other < rank(); ++other)
      if (watch_.watches(other) && !watch_.has_ended(other)) return;
    std::fprintf(stderr, "kiln: %s\n", collective::leaving_text(ended, collective::kNoMessage).c_str());
  }

  void leave_with(std::string_view reason) { leave_with(reason, text(kLeaves, reason.substr(0, kMaxMessage - 1))); }
  void leave_with(std::string_view reason, const std::string& message) {
    if (gone_) return;
    leaves_ = true;
    gone_ = reason;
    send(message);
  }

  /// Whether a message of that rank has arrived.
  bool heard(int rank) {
    Peer& other = peer(rank);
    if (other.request == MPI_REQUEST_NULL)
      checked(MPI_Irecv(other.heard, kMaxMessage, MPI_BYTE, rank, kWordTag, all_, &other.request), "mpi");
    int done = 0, length = 0;
    MPI_Status status;
    checked(MPI_Test(&other.request, &done, &status), "mpi");
    if (!done) return false;
    MPI_Get_count(&status, MPI_BYTE, &length);
    other.heard[length] = 0;
    if (other.heard[0] == kLeaves) other.left = other.heard + 1;
    if (other.heard[0] == kReports) {
      ended_ = std::atoi(other.heard + 1);
      lost_ = true;
      other.left = text("rank ", *ended_, " did not arrive");
    }
    return true;
  }

  /// Waits for one message of each other rank.
  void receive(std::string_view what) {
    std::vector<int> missing;
    for_others([&](int rank) { missing.push_back(rank); });
    const auto throw_if_left = [&](int rank) {
      const auto reason = peer(rank).left;
      if (!reason) return;
      if (ended_) fail_of_end(what, *ended_);
      leave_with(text("it was in ", what, ", to which rank ", rank, " did not arrive"));
      collective::fail_left(what, rank, *reason);
    };
    for (const int rank : missing) throw_if_left(rank);
    const Backoff patience(timeout_);
    while (true) {
      std::erase_if(missing, [&](int rank) {
        const bool ended = watch_.has_ended(rank), came = heard(rank);
        if (came) throw_if_left(rank);
        if (ended && !came) fail_of_end(what, rank);
        return came;
      });
      if (missing.empty()) return;
      if (patience.wait()) continue;
      leave_with(text("it was in ", what, ", to which rank ", missing[0], " arrived too late"));
      collective::fail_timeout(what, missing[0], timeout_);
    }
  }

  /// Throws, and tells the other ranks about `rank`: they may see this rank leave before they see that one end, or be
  /// on other machines.
  [[noreturn]] void fail_of_end(std::string_view what, int rank) {
    lost_ = true;  // its transfers will never end
    leave_with(text("it was in ", what, ", to which rank ", rank, " did not arrive"), text(kReports, rank));
    collective::fail_left(what, rank, collective::kNoMessage);
  }

  void carry(std::string_view what, const Pieces& pieces, const Places& places) {
    std::vector<MPI_Request> requests;
    const auto each_part = [](auto bytes, auto f) {
      for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPart, bytes.size())))
        f(bytes.data(), static_cast<int>(std::min(kPart, bytes.size())));
    };
    for_others([&](int rank) {
      each_part(places[static_cast<std::size_t>(rank)], [&](std::byte* data, int count) {
        checked(MPI_Irecv(data, count, MPI_BYTE, rank, kPieceTag, all_, &requests.emplace_back()), what);
      });
    });
    for_others([&](int rank) {
      each_part(pieces[static_cast<std::size_t>(rank)], [&](const std::byte* data, int count) {
        checked(MPI_Isend(data, count, MPI_BYTE, rank, kPieceTag, all_, &requests.emplace_back()), what);
      });
    });
    const auto own = pieces[static_cast<std::size_t>(rank())];
    const auto place = places[static_cast<std::size_t>(rank())];
    KILN_CHECK(own.size() == place.size());
    if (!own.empty()) std::memcpy(place.data(), own.data(), own.size());

    const Backoff patience(timeout_);
    int done = 0;
    while (true) {
      const bool ended = watch_.first_ended() >= 0;  // read before testing for data that it may have sent
      checked(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), what);
      if (done) return;
      if (ended) fail_of_end(what, watch_.first_ended());
      if (patience.wait()) continue;
      lost_ = true;  // MPI still writes to buffers that are abandoned
      leave_with(text("it was in ", what, ", whose data did not arrive"));
      fail<IoError>(what, ": the data of the other ranks have not arrived within ", timeout_, " s");
    }
  }

  const MPI_Comm all_;
  const double timeout_;
  std::mutex mutex_;
  std::vector<Peer> peers_;
  std::list<Sent> sent_;  // messages that may not have arrived yet
  std::optional<std::string> gone_;
  std::optional<int> ended_;  // a rank that ended without a message, as another rank reports
  bool lost_ = false;
  std::atomic<bool> leaves_ = false;
  RankWatch watch_;
};

/// Compares with the launcher's number of processes. An MPI that does not know the launcher would let each process
/// train alone.
void require_launched(int size) {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "WORLD_SIZE"}) {
    const char* const said = std::getenv(name);
    require<IoError>(size > 1 || !said || std::atoi(said) <= 1, "mpi_ranks: ", name, " says that there are ",
                     said ? said : "",
                     " processes, but MPI was started for this one alone: launch them with mpirun, "
                     "or with a launcher of the MPI that Kiln was built with (Slurm: srun --mpi=pmix)");
  }
}

class Session {
 public:
  explicit Session(const CommunicatorConfig& config) {
    config.check();
    int started = 0, provided = 0, rank = 0, size = 1;
    MPI_Initialized(&started);
    if (!started) checked(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "mpi_ranks");
    else MPI_Query_thread(&provided);
    owns_ = !started;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require<IoError>(
        size == 1 || provided >= MPI_THREAD_SERIALIZED,
        "mpi_ranks: MPI was started for one thread: start it by MPI_Init_thread with MPI_THREAD_SERIALIZED");
    require_launched(size);
    MPI_Comm all;
    checked(MPI_Comm_dup(MPI_COMM_WORLD, &all), "mpi_ranks");  // so that no messages of other code are among these
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    std::vector<RankProcess> processes(static_cast<std::size_t>(size));
    const RankProcess own = RankProcess::own();
    checked(MPI_Allgather(&own, sizeof own, MPI_BYTE, processes.data(), sizeof own, MPI_BYTE, all), "mpi_ranks");
    rank_ = std::make_shared<MpiRank>(all, rank, processes, config.timeout);
  }
  Ranks ranks() const { return rank_; }

  void end() {
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended || ::getpid() != process_) return;
    if (!rank_->part("its program has ended")) {
      std::fprintf(stderr, "kiln: rank %d ends all others, which have not ended by themselves\n", rank_->rank());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (owns_) MPI_Finalize();
  }

 private:
  const pid_t process_ = ::getpid();
  bool owns_ = false;
  std::shared_ptr<MpiRank> rank_;
};

}  // namespace

Ranks mpi_ranks(const CommunicatorConfig& config) {
  // Never destroyed: its end comes at exit, after everything that may still use it.
  static Session& session = *[&] {
    auto* const made = new Session(config);
    static Session* const ended = made;
    std::atexit([] { ended->end(); });
    return made;
  }();
  return session.ranks();
}
bool has_mpi() { return true; }

}  // namespace kiln
