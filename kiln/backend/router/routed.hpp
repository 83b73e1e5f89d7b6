// Routed: where a router's value is, stored in place of memory.
#pragma once
#include <atomic>
#include <memory>
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

  /// The value on another part.
  struct Copy {
    int part;
    Value value;               // empty until it has arrived
    Ref<PendingRead> reading;  // until then
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
