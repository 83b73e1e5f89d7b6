// The backend behind Device::router().
#pragma once
#include <list>
#include <mutex>
#include <typeinfo>

#include "kiln/backend/router/routed.hpp"
#include "kiln/backend/router/router.hpp"
#include "kiln/ops/leaf_backend.hpp"
#include "kiln/ops/unreported_errors.hpp"

namespace kiln {

class Router final : public LeafBackend {
 public:
  Router(std::vector<Device> parts, RoutePolicy policy);

  std::string name() const override;
  void run(const op::Op& op, Call call) override;
  /// Returns whether any part has one.
  bool has_kernel(const op::Op& op) const override;
  /// Keeps the data on the host until an operation uses them.
  Ref<Node> upload(TensorData data, const Device& device) override;
  TensorData download(const Value& value) override { return std::move(start_read({&value, 1})->wait()[0]); }
  /// Waits for moves that the values depend on.
  Ref<PendingRead> start_read(Inputs values) override;
  void flush() override;
  void sync() override;
  /// Returns the sums of the parts.
  MemoryStatistics memory() const override;
  /// Throws DeviceError: it is the parts that have memory.
  void set_memory_limit(std::int64_t bytes) override;
  void reset_memory_peak() override;
  void release_memory() override;
  /// Returns High if any part has it; setting it sets all parts.
  Float32Precision::Level float32_precision() const override;
  void set_float32_precision(Float32Precision::Level level) override;
  /// Returns a router of the same parts with other cores.
  Ref<Backend> with_core(Wrap wrap) override;
  /// Values that depend on moves stay to be computed when those have arrived.
  void run_pending(Inputs values) override;
  State state(const Value& value) const override;

  const std::vector<Device>& parts() const { return parts_; }
  RouterMoves moves() const { return {.count = moved_, .bytes = moved_bytes_}; }
  int part_of(const Value& value) const;

  /// Returns how many operations have waited for operands so far.
  std::uint64_t tasks() const { return tasks_begun_; }
  /// Waits until the first `count` of them have been given to their parts.
  void await_tasks(std::uint64_t count);

 private:
  /// An operation whose operands are on their way.
  struct Task {
    std::uint64_t number;
    op::Op op;
    int part;
    Values in, out, causes;
    Ref<Requester> requester;
    const char* function;  // as named by CalledAs
  };
  /// The operands of an operation as a part has them.
  struct Operands {
    SpareVector<Value> values;
    bool wait = false;  // some are on their way
    Ref<Failure> lost;  // there will never be all of them
  };
  using Lock = std::lock_guard<std::recursive_mutex>;

  /// Returns where a value is. Throws the error that stands in place of it: others, such as a server's sessions, store
  /// errors with nodes of their own.
  static Routed& routed(const Value& value) {
    Storage* const storage = value.node()->storage.get();
    if (!is_routed(storage)) throw_failed(value);
    return static_cast<Routed&>(*storage);
  }
  static bool is_routed(const Storage* storage) { return storage && typeid(*storage) == typeid(Routed); }
  [[noreturn]] static void throw_failed(const Value& value);
  static void throw_failed(Inputs values);
  const Device& device(int part) const { return parts_[static_cast<std::size_t>(part)]; }
  Backend& backend(int part) const { return device(part).backend(); }

  // Where an operation runs (router.cpp).
  int part_of_all(const Call& call) const;
  int choose(const op::Op& op, const Call& call);
  // Its run, now or later.
  void run_composed(const op::Op& op, Call call);
  void run_or_wait(const op::Op& op, int part, const Call& call);
  void run_task(Task& task, const Operands& operands);
  void start(const op::Op& op, int part, const Operands& operands, std::span<const Value> out);
  Values causes_at(int part, Ref<Failure>& lost);
  Value kept(const Value& value) const;
  void remember_view(const op::Op& op, Call call);
  void take_arrivals(bool wait);
  void run_tasks();
  void await(FunctionRef<bool()> is_so);
  // Its operands there (moves.cpp).
  static bool are_there(int part, Inputs in, Operands& operands);
  Operands bring(int part, Inputs in, const op::Op& op);
  void bring(Routed& x, int part, const op::Op& op, Operands& operands);
  void put(Routed& x, int part) const;
  Ref<Moving> moving_to(Routed& x, int part, const op::Op& op);
  Ref<Moving> made_view(const Routed& x, int part, const Operands& in) const;
  Ref<Moving> begin_move(const Routed& x, int part, const op::Op& op);
  Ref<Failure> noted(Ref<Failure> failure, const Value& source);

  const std::vector<Device> parts_;
  const RoutePolicy policy_;  // empty: route_by_place
  UnreportedErrors unreported_;
  std::atomic<std::int64_t> moved_{0}, moved_bytes_{0};
  std::atomic<std::uint64_t> tasks_begun_{0};
  std::atomic<std::size_t> on_their_way_{0};  // the size of arrivals_

  // Guards the members below, and what Routed says. A kernel of the user's own, which runs under it, may call functions.
  std::recursive_mutex mutex_;
  std::vector<Ref<Moving>> arrivals_;
  std::list<std::shared_ptr<Task>> tasks_;  // in the order in which the program asked for them
  std::uint64_t looked_ = 0;                // how often all of them were looked at
};

}  // namespace kiln
