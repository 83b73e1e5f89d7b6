#include "kiln/collective/thread_ranks.hpp"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/decorator.hpp"

namespace kiln {
namespace {

/// The shared state of a group of threads. Each rank arrives twice at an exchange: with its pieces, and when it has
/// read the others'.
struct ThreadGroup {
  struct RankState {
    std::int64_t steps = 0;  // how often the rank has arrived
    std::string what;
    const Communicator::Pieces* pieces = nullptr;
    std::optional<std::string> left;
  };
  ThreadGroup(int size, double seconds) : timeout(seconds), states(static_cast<std::size_t>(size)) {}

  const double timeout;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<RankState> states;
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(std::shared_ptr<ThreadGroup> group, int rank, int size)
      : Communicator(rank, size), group_(std::move(group)) {}
  ~ThreadRank() override { leave_with("its thread released the communicator"); }

  void exchange(std::string_view what, const Pieces& pieces, const Places& places) override {
    std::unique_lock lock(group_->mutex);
    own().what = what;
    own().pieces = &pieces;
    arrive(lock, what);
    int other = -1;
    std::string there;
    for (int rank = 0; rank < size() && other < 0; ++rank)
      if (state_of(rank).what != what) {
        other = rank;
        there = state_of(rank).what;
      }
    if (other < 0) {
      lock.unlock();
      for (int rank = 0; rank < size(); ++rank) {
        const auto place = places[static_cast<std::size_t>(rank)];
        const auto piece = (*state_of(rank).pieces)[static_cast<std::size_t>(this->rank())];
        KILN_CHECK(piece.size() == place.size());
        if (!piece.empty()) std::memcpy(place.data(), piece.data(), piece.size());
      }
      lock.lock();
    }
    arrive(lock, what);
    lock.unlock();
    if (other >= 0) collective::fail_different_call(what, other, there);
  }

  void leave(std::string_view reason) override { leave_with(reason); }
  std::optional<std::string> missing() override {
    const std::lock_guard lock(group_->mutex);
    for (int other = 0; other < size(); ++other)
      if (other != rank() && state_of(other).left) return collective::leaving_text(other, *state_of(other).left);
    return std::nullopt;
  }

 private:
  ThreadGroup::RankState& state_of(int rank) { return group_->states[static_cast<std::size_t>(rank)]; }
  ThreadGroup::RankState& own() { return state_of(rank()); }

  void leave_with(std::string_view reason) {
    const std::lock_guard lock(group_->mutex);
    if (!own().left) own().left = reason;
    group_->changed.notify_all();
  }

  /// Waits until all ranks have arrived as often as this one. On a timeout this rank leaves, as the others cannot go on
  /// without it.
  void arrive(std::unique_lock<std::mutex>& lock, std::string_view what) {
    using Seconds = std::chrono::duration<double>;
    const std::int64_t steps = ++own().steps;
    group_->changed.notify_all();
    int missing = -1;
    const auto find_missing = [&](bool gone) {
      for (missing = size() - 1; missing >= 0; --missing)
        if (state_of(missing).steps < steps && (!gone || state_of(missing).left)) return true;
      return false;
    };
    const bool in_time = group_->changed.wait_for(
        lock, Seconds(group_->timeout), [&] { return own().left || find_missing(true) || !find_missing(false); });
    if (own().left) fail<IoError>(what, ": this rank has left: ", *own().left);
    if (!in_time) find_missing(false);
    if (missing < 0) return;
    const std::optional<std::string> reason = state_of(missing).left;
    own().left =
        text("it was in ", what, ", to which rank ", missing, reason ? " did not arrive" : " arrived too late");
    group_->changed.notify_all();
    lock.unlock();
    if (reason) collective::fail_left(what, missing, *reason);
    collective::fail_timeout(what, missing, group_->timeout);
  }

  const std::shared_ptr<ThreadGroup> group_;
};

}  // namespace

std::vector<Ranks> thread_ranks(int size, const CommunicatorConfig& config) {
  config.check();
  require<ArgumentError>(size >= 1, "thread_ranks: ", size, " ranks, there must be at least 1");
  const auto group = std::make_shared<ThreadGroup>(size, config.timeout);
  std::vector<Ranks> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_shared<ThreadRank>(group, rank, size));
  return ranks;
}

void on_each(const std::vector<Device>& devices, FunctionRef<void(const Ranks& ranks, const Device& device)> run,
             const CommunicatorConfig& config) {
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      require<ArgumentError>(devices[i] != devices[j], "on_each: ranks ", j, " and ", i, " have the same device, ",
                             devices[i], ": another(device) is one like it");
  const std::vector<Ranks> ranks = thread_ranks(static_cast<int>(devices.size()), config);
  std::mutex mutex;
  std::exception_ptr first;
  const auto failed = [&](const Ranks& rank, std::string_view sentence) {
    {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
    rank->leave(sentence);
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < devices.size(); ++i)
      threads.emplace_back([&, i] {
        try {
          run(ranks[i], devices[i]);
          ranks[i]->leave("its work is done");
        } catch (const std::exception& error) { failed(ranks[i], error.what()); } catch (...) {
          failed(ranks[i], "something was thrown that is no error");
        }
      });
  }
  if (first) std::rethrow_exception(first);
}

namespace {

/// Returns this core for new decorators of its own, so that work that waits for other ranks does not delay another
/// stream.
class Apart final : public Decorator {
 public:
  using Decorator::Decorator;
  Ref<Backend> with_core(Wrap wrap) override { return make_ref<Apart>(inner_->with_core(wrap)); }
};

}  // namespace

Device another(const Device& device) {
  const auto apart = [](Ref<Backend> core) -> Ref<Backend> { return make_ref<Apart>(std::move(core)); };
  return Device(device.backend().with_core(apart), device.is_autodiff());
}

}  // namespace kiln
