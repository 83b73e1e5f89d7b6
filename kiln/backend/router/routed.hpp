// Routed: where a router's value is, stored in place of memory.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "kiln/ops/failure.hpp"
#include "kiln/ops/move.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {

/// A value on its way to another part. A thread that waits in finish() does not hold the router's lock.
class Moving final : public RefCounted {
 public:
  explicit Moving(Ref<PendingMove> move) : move_(std::move(move)) {}
  /// A move that has ended.
  explicit Moving(Value there) : there_(std::move(there)), ended_(true) {}
  explicit Moving(Ref<Failure> lost) : lost_(std::move(lost)), ended_(true) {}

  /// Finishes the move if that does not wait. Returns whether it has ended.
  bool ended_by_now() {
    if (ended_) return true;
    const std::unique_lock lock(mutex_, std::try_to_lock);  // it fails while another thread waits
    if (lock && !ended_ && move_->ready()) end();
    return ended_;
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    if (!ended_) end();
  }
  bool ended() const { return ended_; }
  // Once it has ended:
  const Value& there() const { return there_; }
  const Ref<Failure>& lost() const { return lost_; }

 private:
  void end() {
    lost_ = attempt([&] { there_ = move_->take(); });
    move_ = nullptr;
    ended_ = true;
  }

  std::mutex mutex_;
  Ref<PendingMove> move_;  // null once it has ended
  Value there_;
  Ref<Failure> lost_;
  std::atomic<bool> ended_{false};
};

/// A value of a router. Its part and value do not change once the stage is There; all else is guarded by the router.
struct Routed final : Storage {
  static void* operator new(std::size_t size) { return cached_allocate(size); }
  static void operator delete(void* memory, std::size_t size) { cached_free(memory, size); }

  enum class Stage : std::uint8_t {
    Host,     // data that no operation has used yet: `host`
    Waiting,  // the result of an operation whose operands are on their way
    There,    // given to the part, which may still compute it
    Lost,     // it could not be computed: `lost` says why
  };
  Routed(int part, Value value, bool stays)
      : part(part), stays(stays), value(std::move(value)), stage(Stage::Waiting) {}
  explicit Routed(Value host) : host(std::move(host)) {}

  bool ready() const override { return state() != Backend::State::Waiting; }
  Failure* failure() override {
    if (stage == Stage::Lost) return lost.get();
    return state() == Backend::State::Failed ? failure_of(value.node()).get() : nullptr;
  }
  Backend::State state() const {
    if (stage == Stage::There) return value.node()->device.backend().state(value);
    return stage == Stage::Host   ? Backend::State::Arrived
           : stage == Stage::Lost ? Backend::State::Failed
                                  : Backend::State::Waiting;
  }
  void lose(Ref<Failure> failure) {
    lost = std::move(failure);
    stage = Stage::Lost;
  }

  /// The value on another part.
  struct Copy {
    int part;
    Ref<Moving> moving;
  };
  /// The value as a view of another.
  struct View {
    op::Op op;
    Values in;
  };

  int part = -1;
  bool stays = false;
  Value value;  // a value of the part
  std::atomic<Stage> stage{Stage::Host};
  Value host;  // a value of the processor, until the data are used
  std::vector<Copy> copies;
  std::unique_ptr<const View> view;
  Ref<Failure> lost;
};

inline bool is_tensor(const Value& value) { return static_cast<bool>(value.node()); }

}  // namespace kiln
