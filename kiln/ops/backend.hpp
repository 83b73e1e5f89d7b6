// Backend: what a Device points to. It runs calls, or wraps another backend and passes them on.
#pragma once
#include <atomic>
#include <span>

#include "kiln/core/random.hpp"
#include "kiln/ops/value.hpp"

namespace kiln {

namespace op {
struct Op;
}

/// One execution: operands (tensors, numbers or absent) and the results to fill, whose shape, dtype and
/// device are set and whose storage the backend provides.
struct Call {
  Inputs in;
  std::span<Value> out;
};

struct MemoryStatistics {
  std::int64_t in_use = 0;    // bytes handed out
  std::int64_t reserved = 0;  // bytes held from the system
  std::int64_t peak = 0;      // highest in_use so far
};

class Backend : public RefCounted {
 public:
  virtual std::string name() const = 0;
  /// Enqueues `op`; never waits for the device. Operands were checked by `infer`.
  virtual void run(const op::Op& op, Call call) = 0;
  /// False: emit() runs the op's expansion instead.
  virtual bool has_kernel(const op::Op&) const { return true; }
  virtual Ref<Node> upload(TensorData data, const Device& device) = 0;
  virtual TensorData download(const Value& value) = 0;
  virtual void sync() = 0;
  virtual MemoryStatistics memory() const { return {}; }

  void seed(std::uint64_t seed) {
    seed_ = seed;
    drawn_ = 0;
  }
  Key next_key() { return Key{seed_}.split(drawn_++); }

 private:
  std::atomic<std::uint64_t> seed_{0}, drawn_{0};
};

}  // namespace kiln
