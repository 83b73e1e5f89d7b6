// A GPU as a device: the families of kernels in family/ over a Driver. An op that no family knows is made of others, or runs
// on the host.
#pragma once
#include <deque>
#include <shared_mutex>
#include <unordered_map>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/backend/gpu/meetings.hpp"
#include "kiln/backend/gpu/memory.hpp"
#include "kiln/core/reflect/signature.hpp"
#include "kiln/ops/leaf_backend.hpp"
#include "kiln/ops/untold.hpp"

namespace kiln::gpu {

/// What a kernel is given: an address, or a number in the type of its parameter.
struct Argument {
  std::uint64_t bits;
  Argument(const Array& array) : bits(reinterpret_cast<std::uintptr_t>(array.data)) {}
  Argument(const std::byte* address) : bits(reinterpret_cast<std::uintptr_t>(address)) {}
  Argument(std::int64_t number) : bits(static_cast<std::uint64_t>(number)) {}  // of any integer parameter
  Argument(int number) : Argument(static_cast<std::int64_t>(number)) {}
  /// A number as what elements of `dtype` are computed in.
  Argument(const Scalar& number, DType dtype);
};

/// Blocks of `threads` threads for `work` items.
inline std::int64_t blocks_for(std::int64_t work, std::int64_t threads) { return (work + threads - 1) / threads; }

/// Plain structs that say all that a kernel is made from, and make it: `Kernel kernel() const`.
template <class T>
concept KernelSource = Plain<T> && requires(const T& source) {
  { source.kernel() } -> std::same_as<Kernel>;
};

/// The same with a kernel that is CUDA C++: `CudaText text() const`.
template <class T>
concept TextSource = Plain<T> && requires(const T& source) {
  { source.text() } -> std::same_as<CudaText>;
};

class Gpu final : public LeafBackend {
 public:
  explicit Gpu(Ref<Driver> driver);

  std::string name() const override { return driver().name(); }
  void run(const op::Op& op, Call call) override;
  bool has_kernel(const op::Op& op) const override;
  Ref<Node> upload(TensorData data, const Device& device) override;
  TensorData download(const Value& value) override;
  Ref<PendingRead> start_read(Inputs values) override;
  void flush() override;
  /// Throws what kernels found in the data of this thread's operations, where nobody was told.
  void sync() override;
  MemoryStatistics memory() const override { return pool_->blocks().statistics(); }
  void set_memory_limit(std::int64_t bytes) override { pool_->blocks().set_limit(static_cast<std::size_t>(bytes)); }
  void reset_memory_peak() override { pool_->blocks().reset_peak(); }
  void release_memory() override;
  FusionTraits fusion_traits() const override;

  // ---- for families, and for kernels of a user's own (custom.hpp) ----
  Driver& driver() const { return pool_->driver(); }
  bool takes_cuda() const { return driver().capabilities().takes_cuda; }
  /// Gives a result memory in row-major order, unless it has some in that order already.
  Array allocate(Value& result, MemoryUse use = MemoryUse::Result);
  /// The same in the order of `strides`, which must cover the result without gaps or overlap.
  Array allocate(Value& result, const Dims& strides, MemoryUse use = MemoryUse::Result);
  /// The memory of operand i, if it is read for the last time and lies there alone in that order. For kernels of which
  /// each thread reads an element before it writes the one in its place, and no other thread reads that.
  bool take_memory(Value& result, const Dims& strides, const Call& call, std::size_t i);
  /// A tensor for the family's own use, in row-major order.
  Value scratch(const Desc& desc);
  /// An operand in row-major order: in place if it is, otherwise copied (into `held`, which keeps the copy alive).
  Array read_contiguous(const Value& value, Value& held);
  /// The same, and in memory from which 16 bytes can be loaded at once.
  Array read_aligned(const Value& value, Value& held);

  /// Runs a kernel, which is built and compiled when it is first asked for. Text is for devices that take it.
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
  template <KernelSource T>
  Ref<Code> find(const T& source) {
    return made<Ref<Code>>(source,
                           [&] { return std::make_shared<const Ref<Code>>(driver().compile(source.kernel())); });
  }
  template <TextSource T>
  Ref<Code> find(const T& source) {
    return made<Ref<Code>>(source, [&] { return std::make_shared<const Ref<Code>>(compile(source.text())); });
  }
  /// What was made of `key`, a plain struct of a type that stands for this use alone: a std::shared_ptr<const T> that
  /// make() gave when it was first asked for. Where two threads are first, one result is kept.
  template <class T, Plain Key, class Make>
  const T& made(const Key& key, Make&& make) {
    const Signature signature(key);
    if (const void* const known = find_made(signature)) return *static_cast<const T*>(known);
    return *static_cast<const T*>(keep_made(signature, make()));
  }

  /// Where ranks meet, beside what else the device is asked for. run() waits for what an op's operands wait for, but for views,
  /// and for those of ops that go side by side, each of which waits for its own.
  Meetings& meetings() { return meetings_; }

  /// A cell, 0 to begin with, in which a kernel leaves a number where its data are wrong. Once the kernel is launched,
  /// the results of the call depend on what is found there; `tell` makes the error.
  Value check_cell();
  void check(const Value& cell, Call call, std::function<std::exception_ptr(std::int64_t)> tell);

 private:
  void run_kernel(const op::Op& op, Call call);
  void run_on_host(const op::Op& op, Call call);
  Value copied(const Array& array);
  Ref<Code> compile(const CudaText& kernel) const;
  const void* find_made(const Signature& signature) const;
  const void* keep_made(const Signature& signature, std::shared_ptr<const void> value);
  std::vector<Ref<DataCheck>> doubts(Inputs operands) const;
  void settle_checks(bool all);

  const Ref<Pool> pool_;
  mutable std::shared_mutex mutex_;
  struct Hash {
    std::size_t operator()(const Signature& signature) const { return signature.hash(); }
  };
  struct Made {
    OwnSignature key;
    std::shared_ptr<const void> value;
  };
  std::unordered_map<Signature, Made, Hash> made_;
  std::vector<Ref<DataCheck>> checks_;  // of which nobody has asked the device yet
  Mutex settling_;                      // of what follows, in which others have their turn once they are settled
  std::deque<Ref<DataCheck>> asked_;    // whose answers are not known yet, in the order in which they come
  Untold untold_;
  Meetings meetings_;
};

}  // namespace kiln::gpu
