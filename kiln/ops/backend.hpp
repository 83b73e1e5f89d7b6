// Backend: the device that a Device refers to. It runs calls, or wraps another backend and passes calls on.
#pragma once
#include <atomic>
#include <span>
#include <vector>

#include "kiln/core/parallel.hpp"
#include "kiln/core/random.hpp"
#include "kiln/ops/memory.hpp"
#include "kiln/ops/scope/float32_precision.hpp"
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
  /// Bit i: operand i is not read after this call, so that a result may take its memory. Only Fusion knows this. A
  /// backend that reads operands after running a call must pass the call on without these bits.
  std::uint64_t last_uses = 0;
  bool is_last_use(std::size_t operand) const { return operand < 64 && (last_uses >> operand & 1); }
};

/// The function that is called once data have arrived; a coroutine's handle fits in it.
struct Wakeup {
  void (*call)(void*) = nullptr;
  void* argument = nullptr;
  void operator()() const { call(argument); }
};

/// Copies to the host that are in progress: the result of start_read().
class PendingRead : public RefCounted {
 public:
  /// Whether wait() would return at once.
  virtual bool ready() const = 0;
  /// Returns the data of each value once they have arrived. Must be called only once; throws the device's errors.
  virtual std::vector<TensorData> wait() = 0;
  /// Calls `then` when the data are ready, from any thread.
  virtual void notify(Wakeup then) = 0;
};

/// The interface of a device. No function has a default here, so that a new one cannot be forgotten: a backend that
/// wraps another derives from Decorator, which passes all calls on; a backend that runs calls itself derives from
/// LeafBackend, which has the answers of a device that runs each call at once.
class Backend : public RefCounted {
 public:
  virtual std::string name() const = 0;
  /// The backend below all decorators: this one, unless it decorates another.
  virtual Backend& core() { return *this; }
  /// Enqueues `op`, which must have a kernel (run_or_expand() asks has_kernel()); never waits for the device. Operands
  /// were checked by `infer`. An error after the return is stored as Storage::failure() of the results, and of values
  /// computed from them.
  virtual void run(const op::Op& op, Call call) = 0;
  /// Whether the backend has a kernel for `op`; if not, the expansion of the op runs in its place.
  virtual bool has_kernel(const op::Op& op) const = 0;
  virtual Ref<Node> upload(TensorData data, const Device& device) = 0;
  /// Returns the contents on the host; waits for the device.
  virtual TensorData download(const Value& value) = 0;
  /// Starts to copy values to the host with a single synchronisation, and does not wait: work enqueued later overlaps
  /// with the copy.
  virtual Ref<PendingRead> start_read(Inputs values) = 0;
  /// Whether an operand on `other` may be used together with this backend's own. A decorator answers for the backend it
  /// wraps.
  virtual bool accepts(const Device& other) const = 0;
  /// Starts the enqueued work, for a backend that collects calls before it runs them.
  virtual void flush() = 0;
  virtual void sync() = 0;
  virtual MemoryStatistics memory() const = 0;
  /// Device documents these three.
  virtual void set_memory_limit(std::int64_t bytes) = 0;
  virtual void reset_memory_peak() = 0;
  virtual void release_memory() = 0;
  /// What Float32Precision::set() set; Highest at first, or what the environment says of such a device.
  virtual Float32Precision::Level float32_precision() const = 0;
  virtual void set_float32_precision(Float32Precision::Level level) = 0;

  /// Returns this backend with its core, the innermost backend below all decorators, replaced by wrap(core). A
  /// decorator returns a new decorator of its own kind.
  using Wrap = FunctionRef<Ref<Backend>(Ref<Backend>)>;
  virtual Ref<Backend> with_core(Wrap wrap) = 0;

  /// Starts the work that these values wait for, and throws the errors of these values that are known by then. Does not
  /// wait for the device.
  virtual void run_pending(Inputs values) = 0;
  /// The state of a value, found without starting any work. A backend whose run() completes each call, or throws,
  /// always answers Arrived.
  enum class State : std::uint8_t { Waiting, Arrived, Failed };
  virtual State state(const Value& value) const = 0;

  /// How many calls may be collected for this device before they run, and what may be fused.
  virtual FusionTraits fusion_traits() const = 0;

  /// A number that no other backend of the program ever has.
  std::uint64_t id() const { return id_; }

  void seed(std::uint64_t seed) {
    seed_ = seed;
    drawn_ = 0;
  }
  /// Returns a new key of the device's stream; when a checkpointed function runs again on this thread, the key that the
  /// first run got (ops/scope/scope.hpp).
  Key next_key();

 private:
  static std::uint64_t next_id();
  const std::uint64_t id_ = next_id();
  std::atomic<std::uint64_t> seed_{0}, drawn_{0};
};

}  // namespace kiln
