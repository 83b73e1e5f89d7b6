// Gpu: a GPU as a device, made of the kernel families in family/ and a Driver. An op that no family knows runs as its
// expansion, or on the host.
#pragma once
#include <deque>
#include <shared_mutex>
#include <unordered_map>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/backend/gpu/kernel/refusal.hpp"
#include "kiln/backend/gpu/memory.hpp"
#include "kiln/backend/gpu/peers.hpp"
#include "kiln/backend/gpu/running_collectives.hpp"
#include "kiln/backend/gpu/tune/choices.hpp"
#include "kiln/core/reflect/signature.hpp"
#include "kiln/ops/leaf_backend.hpp"
#include "kiln/ops/unreported_errors.hpp"

namespace kiln::gpu {

/// An argument of a kernel: an address, or a number in the type of its parameter.
struct Argument {
  std::uint64_t bits;
  Argument(const Array& array) : bits(reinterpret_cast<std::uintptr_t>(array.data)) {}
  Argument(const std::byte* address) : bits(reinterpret_cast<std::uintptr_t>(address)) {}
  Argument(std::int64_t number) : bits(static_cast<std::uint64_t>(number)) {}  // for any integer parameter
  Argument(int number) : Argument(static_cast<std::int64_t>(number)) {}
  /// A number in the type in which elements of `dtype` are computed.
  Argument(const Scalar& number, DType dtype);
};

/// The number of blocks of `threads` threads that cover `work` items.
inline std::int64_t blocks_for(std::int64_t work, std::int64_t threads) { return (work + threads - 1) / threads; }

/// A plain struct that holds all that a kernel is built from, and builds it: `Kernel kernel() const`.
template <class T>
concept KernelSource = Plain<T> && requires(const T& source) {
  { source.kernel() } -> std::same_as<Kernel>;
};

/// A plain struct whose kernel is written as text: `TextKernel text() const`.
template <class T>
concept TextSource = Plain<T> && requires(const T& source) {
  { source.text() } -> std::same_as<TextKernel>;
};

class Gpu final : public LeafBackend {
 public:
  /// `choices`: null for those of the environment.
  explicit Gpu(Ref<Driver> driver, std::unique_ptr<Choices> choices = nullptr);

  std::string name() const override { return driver().name(); }
  void run(const op::Op& op, Call call) override;
  bool has_kernel(const op::Op& op) const override;
  Ref<Node> upload(TensorData data, const Device& device) override;
  TensorData download(const Value& value) override;
  Ref<PendingRead> start_read(Inputs values) override;
  void flush() override;
  /// Throws the data errors that kernels found in this thread's operations and that have not been reported.
  void sync() override;
  MemoryStatistics memory() const override { return pool_->statistics(); }
  void set_memory_limit(std::int64_t bytes) override { pool_->set_limit(static_cast<std::size_t>(bytes)); }
  void reset_memory_peak() override { pool_->reset_peak(); }
  void release_memory() override;
  FusionTraits fusion_traits() const override;

  // ---- for families, and for custom kernels (custom.hpp) ----
  Driver& driver() const { return pool_->driver(); }
  /// The kernels that are the quickest here; docs/inspecting.md says which of them may differ in last bits.
  Choices& choices() const { return *choices_; }
  /// Does launch() take kernels that are written in that language?
  bool takes(Language language) const { return driver().texts() && driver().texts()->language() == language; }
  /// Allocates memory for a result in row-major order, unless it has some in that order already.
  Array allocate(Value& result, MemoryUse use = MemoryUse::Result);
  /// Allocates in the order of `strides`, which must cover the result without gaps or overlap.
  Array allocate(Value& result, const Dims& strides, MemoryUse use = MemoryUse::Result);
  /// Gives the result the memory of operand i, if this is its last read, no other value shares it, and it has that
  /// order. Only for kernels in which each thread reads an element before it writes the result in its place, and no
  /// other thread reads it.
  bool take_memory(Value& result, const Dims& strides, const Call& call, std::size_t i);
  /// A temporary tensor for a family, in row-major order.
  Value scratch(const Desc& desc);
  /// Returns an operand in row-major order: in place if possible, otherwise a copy, which `held` keeps alive.
  Array read_contiguous(const Value& value, Value& held);
  /// Does what read_contiguous() does, in memory that is aligned for loads of 16 bytes.
  Array read_aligned(const Value& value, Value& held);

  /// Runs a kernel, which is built and compiled on its first launch. Text needs a device that takes() its language.
  template <class T>
  requires KernelSource<T> || TextSource<T>
  void launch(const T& source, std::int64_t blocks, std::initializer_list<Argument> arguments) {
    launch(source, blocks, std::span(arguments.begin(), arguments.size()));
  }
  template <class T>
  requires KernelSource<T> || TextSource<T>
  void launch(const T& source, std::int64_t blocks, std::span<const Argument> arguments) {
    launch(*find(source), blocks, arguments);
  }
  void launch(const Code& code, std::int64_t blocks, std::span<const Argument> arguments);
  /// Throws Refused for a kernel that the device's capabilities exclude; run() then looks for another way.
  template <KernelSource T>
  Ref<Code> find(const T& source) {
    return usable(made<Compiled>(source, [&] { return compile(source.kernel()); }));
  }
  /// Returns null for such a kernel.
  template <KernelSource T>
  Ref<Code> find_or_none(const T& source) {
    return made<Compiled>(source, [&] { return compile(source.kernel()); }).code;
  }
  template <TextSource T>
  Ref<Code> find(const T& source) {
    return usable(made<Compiled>(source, [&] { return compile(source.text()); }));
  }
  /// Returns the cached std::shared_ptr<const T> that make() returned for `key`, a plain struct whose type is used for
  /// nothing else; calls make() on first use. If two threads are first, one result is kept.
  template <class T, Plain Key, class Make>
  const T& made(const Key& key, Make&& make) {
    const Signature signature(key);
    if (const void* const known = find_cached(signature)) return *static_cast<const T*>(known);
    return *static_cast<const T*>(keep_cached(signature, make()));
  }

  /// The collectives of ranks that run alongside the device's other work. run() waits for those that an op's operands
  /// depend on, except for views and for op::Batched, each part of which waits for its own.
  RunningCollectives& running_collectives() { return running_collectives_; }
  /// The memory of operands, results and temporaries.
  const Ref<Pool>& pool() const { return pool_; }
  /// Uploads what later operations read, too, on any stream, and returns its memory, which does not keep the device
  /// alive. They pass it to table() before they launch what reads it.
  Ref<Storage> upload_table(DType dtype, std::span<const std::byte> bytes);
  const std::byte* table(const Storage& storage);
  /// Memory that other devices are copying from here.
  Lent& lent() { return lent_; }

  /// Returns a cell, initially 0, in which a kernel stores which of so many `places` is wrong: an int64, or a uint32 on
  /// devices that update no 64-bit integers, which throws Refused beyond 2^31 places. Kernels are built for its type.
  /// check() is called once the kernel is launched: the results of the call then depend on the cell, and `tell` turns
  /// its number into the error.
  Value check_cell(std::int64_t places);
  void check(const Value& cell, Call call, std::function<std::exception_ptr(std::int64_t)> tell);

 private:
  void run_kernel(const op::Op& op, Call call);
  template <class T>
  bool run_family(const op::Op& op, const T& attributes, Call call);
  void run_on_host(const op::Op& op, Call call);
  Value copied(const Array& array);
  /// What became of a kernel: code, or the reason why the device cannot run it, which is found once.
  struct Compiled {
    Ref<Code> code;
    std::optional<Refusal> refusal;
  };
  std::shared_ptr<const Compiled> compile(const Kernel& kernel) const;
  std::shared_ptr<const Compiled> compile(const TextKernel& kernel) const;
  static const Ref<Code>& usable(const Compiled& compiled) {
    if (compiled.refusal) throw Refused(*compiled.refusal);
    return compiled.code;
  }
  const void* find_cached(const Signature& signature) const;
  const void* keep_cached(const Signature& signature, std::shared_ptr<const void> value);
  std::vector<Ref<DataCheck>> doubts(Inputs operands) const;
  static void depend_on(std::span<const Value> results, std::span<const Ref<DataCheck>> checks);
  void start_checks(bool all);
  void settle_checks(bool all);

  const Ref<Pool> pool_;
  const std::unique_ptr<Choices> choices_;
  mutable std::shared_mutex mutex_;
  struct Hash {
    std::size_t operator()(const Signature& signature) const { return signature.hash(); }
  };
  struct CachedObject {
    StoredSignature key;
    std::shared_ptr<const void> value;
  };
  std::unordered_map<Signature, CachedObject, Hash> made_;
  std::vector<Ref<DataCheck>> checks_;         // not sent to the host yet
  Mutex settling_;                             // guards the following; other threads wait while checks are settled
  std::deque<Ref<DataCheck>> pending_checks_;  // sent, with results not known yet, in the order in which they arrive
  UnreportedErrors unreported_;
  RunningCollectives running_collectives_;
  Lent lent_;
};

}  // namespace kiln::gpu
