// The simulated device with several streams, none of which does anything before somebody waits for it: what runs without
// having waited for another stream finds that the other has done nothing yet. Its collectives, of a single rank, end as late.
#pragma once
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/gpu/simulated/simulated.hpp"

namespace kiln::gpu::test {

class Deferred final : public Driver, Streams, BlockSource, Collectives {
 public:
  std::string name() const override { return "deferred"; }
  const Capabilities& capabilities() const override { return inner_->capabilities(); }
  BlockSource& memory() override { return *this; }
  Ref<Code> compile(const Kernel& kernel) override { return inner_->compile(kernel); }

  void launch(const Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) override {
    add([this, code = Ref<const Code>(&code), blocks, words = std::vector(arguments.begin(), arguments.end())] {
      inner_->launch(*code, blocks, words);
    });
  }
  void upload(std::byte* to, std::span<const std::byte> from) override {
    add([this, to, bytes = std::vector(from.begin(), from.end())] { inner_->upload(to, bytes); });
  }
  Ref<Transfer> download(const std::byte* from, std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    add([=, this] { inner_->copy(to, from, bytes); });
  }
  void clear(std::byte* start, std::size_t bytes) override {
    add([=, this] { inner_->clear(start, bytes); });
  }
  void synchronize() override {
    for (int i = 0; i < kMostStreams; ++i) run(i, SIZE_MAX);
  }

  Streams* streams() override { return this; }
  void open_stream(int number) override { opened = std::max(opened, number); }
  void wait_for_stream(int number, int other) override {
    const std::lock_guard lock(mutex_);
    require<DeviceError>(number != cannot_wait, "deferred: stream ", number, " cannot wait");
    ++waits;
    const std::size_t place = at(other).added;
    add([=, this] { run(other, place); }, number);
  }

  Collectives* collectives() override { return this; }
  bool can_start_collectives(Communicator&) override { return true; }
  std::uint64_t start_collective(Communicator&, const Collective& collective) override {
    const std::lock_guard lock(mutex_);
    meeting_.push_back(collective);
    return meeting_.size();
  }
  /// The sum of one rank is what it brings.
  void wait_for_collective(std::uint64_t number) override {
    const std::lock_guard lock(mutex_);
    for (; met_ < number; ++met_)
      add(
          [this, each = meeting_[met_]] {
            inner_->copy(each.result, each.x, static_cast<std::size_t>(each.count) * size_of(each.dtype));
          },
          0);
  }

  /// Does what a stream was given, up to the place in its list.
  void run(int number, std::size_t until) {
    const std::lock_guard lock(mutex_);
    Commands& stream = at(number);
    while (stream.done < std::min(until, stream.added)) {
      const std::function<void()> first = std::move(stream.all.front());
      stream.all.pop_front();
      ++stream.done;
      first();
    }
  }
  bool is_done(int number, std::size_t place) {
    const std::lock_guard lock(mutex_);
    return at(number).done >= place;
  }
  std::size_t given(int number) {
    const std::lock_guard lock(mutex_);
    return at(number).added;
  }

  int opened = 0, waits = 0, cannot_wait = -1;
  bool is_full = false;  // it has no more memory, whatever the limit

 private:
  struct Commands {
    std::deque<std::function<void()>> all;
    std::size_t added = 0, done = 0;
  };
  Commands& at(int number) { return streams_[static_cast<std::size_t>(number)]; }
  void add(std::function<void()> command) { add(std::move(command), stream_of(*this)); }
  void add(std::function<void()> command, int number) {
    const std::lock_guard lock(mutex_);
    at(number).all.push_back(std::move(command));
    ++at(number).added;
  }

  // The simulated device knows the regions that pools hold, and not who uses what of them: that is known too early here.
  std::byte* map(std::size_t bytes) override {
    if (is_full) return nullptr;
    std::byte* const start = system_pages().map(bytes);
    if (start) inner_->acquired(start, bytes);
    return start;
  }
  bool unmap(std::byte* start, std::size_t bytes) override {
    synchronize();
    inner_->released(start, bytes);
    return system_pages().unmap(start, bytes);
  }
  bool returns_parts() const override { return false; }

  const Ref<Driver> inner_ = make_simulated();
  std::recursive_mutex mutex_;
  std::array<Commands, kMostStreams> streams_;
  std::vector<Collective> meeting_;
  std::size_t met_ = 0;
};

/// A copy that is made when somebody waits for it.
class LateTransfer final : public Transfer {
 public:
  LateTransfer(Ref<Deferred> driver, int number) : driver_(std::move(driver)), number_(number) {}
  void fetch(Ref<Transfer> from) { from_ = std::move(from); }
  void is_at(std::size_t place) { place_ = place; }
  bool ready() const override { return driver_->is_done(number_, place_); }
  void wait(std::byte* to) override {
    driver_->run(number_, place_);
    from_->wait(to);
  }
  void notify(Wakeup then) override {
    driver_->run(number_, place_);
    then();
  }

 private:
  const Ref<Deferred> driver_;
  const int number_;
  std::size_t place_ = 0;
  Ref<Transfer> from_;
};

inline Ref<Transfer> Deferred::download(const std::byte* from, std::size_t bytes) {
  const int number = stream_of(*this);
  auto transfer = make_ref<LateTransfer>(Ref<Deferred>(this), number);
  const std::lock_guard lock(mutex_);
  add([=, this] { transfer->fetch(inner_->download(from, bytes)); });
  transfer->is_at(given(number));
  return transfer;
}

}  // namespace kiln::gpu::test
