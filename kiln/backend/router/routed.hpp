// Routed: where a router's value is, stored in place of memory.
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "kiln/ops/backend.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {

/// A value of a router. Its part and value do not change once the stage is There; all else is the router's, under its
/// lock.
struct Routed final : Storage {
  static void* operator new(std::size_t size) { return cached_allocate(size); }
  static void operator delete(void* memory, std::size_t size) { cached_free(memory, size); }

  enum class Stage : std::uint8_t {
    Host,     // data that no operation has used yet
    Waiting,  // the result of an operation whose operands are on their way
    There,    // given to the part, which may still compute it
    Lost,     // it could not be computed: `lost` says why
  };
  Routed(int part, Value value, bool stays)
      : part(part), stays(stays), value(std::move(value)), stage(Stage::Waiting) {}
  explicit Routed(TensorData data) : host(std::make_unique<TensorData>(std::move(data))) {}

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

  /// A read that one thread waits for, whichever does so first: the router's lock is not held meanwhile.
  class Reading final : public RefCounted {
   public:
    explicit Reading(Ref<PendingRead> reading) : reading_(std::move(reading)) {}
    bool ready() const {
      const std::unique_lock lock(mutex_, std::try_to_lock);  // not while another thread waits
      return lock && (!reading_ || reading_->ready());
    }
    void wait() {
      const std::lock_guard lock(mutex_);
      if (!reading_) return;
      failure_ = attempt([&] { data_ = std::move(reading_->wait()[0]); });
      reading_ = nullptr;
    }
    /// Takes the data, once. Throws the device's error.
    TensorData take() {
      wait();
      if (failure_) std::rethrow_exception(failure_->error);
      return std::move(data_);
    }

   private:
    mutable std::mutex mutex_;
    Ref<PendingRead> reading_;  // until it has been waited for
    TensorData data_;
    Ref<Failure> failure_;
  };

  /// The value on another part.
  struct Copy {
    int part;
    Value value;           // empty until it has arrived
    Ref<Reading> reading;  // until then
    Ref<Failure> lost;
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
  std::unique_ptr<TensorData> host;
  std::vector<Copy> copies;
  std::unique_ptr<const View> view;
  Ref<Failure> lost;
};

}  // namespace kiln
