// Backend: what a Device points to. It runs calls, or wraps another backend and passes them on.
#pragma once
#include <atomic>
#include <span>
#include <vector>

#include "kiln/core/parallel.hpp"
#include "kiln/core/random.hpp"
#include "kiln/ops/memory.hpp"
#include "kiln/ops/value.hpp"

namespace kiln {

namespace op {
struct Op;
}
struct FusionTraits;  // ops/fusion_traits.hpp

/// One execution: operands (tensors, numbers or absent) and the results to fill, whose shape, dtype and
/// device are set and whose storage the backend provides.
struct Call {
  Inputs in;
  std::span<Value> out;
  /// Bit i: operand i is not read after this call, so that a result may take its memory. Only Fusion knows; who
  /// reads operands after running a call passes it on without this.
  std::uint64_t last_uses = 0;
  bool is_last_use(std::size_t operand) const { return operand < 64 && (last_uses >> operand & 1); }
};

/// What is called once data have arrived; a coroutine's handle fits in it.
struct Wakeup {
  void (*call)(void*) = nullptr;
  void* argument = nullptr;
  void operator()() const { call(argument); }
};

/// Copies to the host that are under way: what a backend answers to start_read().
class PendingRead : public RefCounted {
 public:
  /// Would wait() return at once?
  virtual bool ready() const = 0;
  /// The data of each value, once they have arrived. Called once; an error of the device surfaces here.
  virtual std::vector<TensorData> wait() = 0;
  /// Calls `then` when ready, from any thread.
  virtual void notify(Wakeup then) = 0;
};

/// All that a device can be asked. None of it has a default here, so that nobody forgets what is added: who wraps another
/// backend derives from Decorator, which passes on each of these; who runs calls itself from LeafBackend, which knows the
/// answers of a device that runs each call at once.
class Backend : public RefCounted {
 public:
  virtual std::string name() const = 0;
  /// Enqueues `op`, of which has_kernel() says that there is one (run_or_expand() asks); never waits for the device.
  /// Operands were checked by `infer`. What goes wrong later than this returns is a result's Storage::failure(), and that
  /// of what is made of it.
  virtual void run(const op::Op& op, Call call) = 0;
  /// False: what the op is made of runs in its place.
  virtual bool has_kernel(const op::Op& op) const = 0;
  virtual Ref<Node> upload(TensorData data, const Device& device) = 0;
  /// The contents on the host; waits for the device.
  virtual TensorData download(const Value& value) = 0;
  /// Starts to copy values to the host, all in one synchronisation, and does not wait: work enqueued later overlaps
  /// with it.
  virtual Ref<PendingRead> start_read(Inputs values) = 0;
  /// May an operand that lives on `other` stand beside this backend's own? A decorator says so of what it wraps.
  virtual bool accepts(const Device& other) const = 0;
  /// Starts what was enqueued, for a backend that gathers calls before it runs them.
  virtual void flush() = 0;
  virtual void sync() = 0;
  virtual MemoryStatistics memory() const = 0;
  /// Device documents these three.
  virtual void set_memory_limit(std::int64_t bytes) = 0;
  virtual void reset_memory_peak() = 0;
  virtual void release_memory() = 0;

  /// This backend with its core, what stands below all decorators, replaced by wrap(core). A decorator answers with
  /// another of its kind.
  using Wrap = FunctionRef<Ref<Backend>(Ref<Backend>)>;
  virtual Ref<Backend> with_core(Wrap wrap) = 0;

  /// Starts what these values wait for, and throws what is known by then to have gone wrong with one of them. Does not
  /// wait for the device.
  virtual void run_pending(Inputs values) = 0;
  /// What is known of a value without starting anything. Of a backend that runs a call before run() returns, or throws
  /// there, no value is known that has not arrived.
  enum class State : std::uint8_t { Waiting, Arrived, Failed };
  virtual State state(const Value& value) const = 0;

  /// What may be gathered for this device before it runs, and what may be made of it.
  virtual FusionTraits fusion_traits() const = 0;

  /// No other backend of the program ever has it.
  std::uint64_t id() const { return id_; }

  void seed(std::uint64_t seed) {
    seed_ = seed;
    drawn_ = 0;
  }
  /// A key of the device's stream, or the one that it gave when the thread did the same before (ops/scope/scope.hpp).
  Key next_key();

 private:
  static std::uint64_t next_id();
  const std::uint64_t id_ = next_id();
  std::atomic<std::uint64_t> seed_{0}, drawn_{0};
};

}  // namespace kiln
