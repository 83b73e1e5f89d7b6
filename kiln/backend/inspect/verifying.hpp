// The backends behind Verify::device().
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "kiln/backend/inspect/verify.hpp"
#include "kiln/ops/decorator.hpp"
#include "kiln/ops/fusion_traits.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {

struct VerifyCount {
  std::atomic<std::int64_t> compared = 0;
};

/// The comparison of results, used by all checks.
struct Comparison {
  VerifyOptions options;
  std::shared_ptr<VerifyCount> count = std::make_shared<VerifyCount>();

  /// Returns an empty text where two results agree, otherwise the report of difference(). `exact`: the numbers must be
  /// equal, unless both were `rounded` differently, as sums in another order are. Integers and booleans computed from
  /// such numbers may then differ and are not compared. `terms`: the magnitude of terms that cancel out.
  std::string differ(const TensorData& actual, const TensorData& expected, bool exact,
                     std::optional<DType> rounded = {}, double terms = 0) const;
};

/// Whether a device rounds a fused multiplication and addition only once.
bool contracts(const Backend& backend);

/// Compares the result of each operation with that of its expansion, of the reference, or of itself on copies of its
/// operands.
class VerifiedKernels final : public Decorator {
 public:
  VerifiedKernels(Ref<Backend> inner, Comparison comparison);

  void run(const op::Op& op, Call call) override;
  Ref<Backend> with_core(Wrap wrap) override { return make_ref<VerifiedKernels>(inner_->with_core(wrap), comparison_); }

 private:
  /// `in`: copies of the operands; `found`: the kernel's results.
  void compare(const op::Op& op, const Call& call, Inputs in, std::span<const TensorData> found, Inputs expected,
               std::string_view what);
  std::string first_wrong_step(const op::Fused& fused, Inputs in, std::optional<DType> rounded);

  const Comparison comparison_;
  const bool contracts_;
  const Device one_by_one_;  // for the comparison; runs the steps of planned ops one by one
};

/// Wraps a backend that runs operations later and in another form, and also runs them one by one on `plain`, each on
/// its own copies of operands: data cached for an operand do not affect these results. Any number of threads may use
/// it.
class VerifiedPlans final : public Decorator {
 public:
  VerifiedPlans(Ref<Backend> inner, Ref<Backend> plain, Comparison comparison)
      : Decorator(std::move(inner)),
        plain_(std::move(plain)),
        comparison_(std::move(comparison)),
        contracts_(contracts(*plain_)) {}

  void run(const op::Op& op, Call call) override;
  Ref<Node> upload(TensorData data, const Device& device) override;
  TensorData download(const Value& value) override;
  Ref<PendingRead> start_read(Inputs values) override;
  bool accepts(const Device&) const override { return false; }
  void run_pending(Inputs values) override;
  State state(const Value& value) const override;
  void sync() override;
  Ref<Backend> with_core(Wrap wrap) override;

 private:
  struct ValuePair;
  struct PairStorage;
  class ComparedRead;
  using Name = std::pair<std::thread::id, std::int64_t>;  // the thread that asked for a value, and the value's age
  Ref<Storage> pair_storage(Value fused, Value plain, std::optional<DType> rounded, std::string made_by);
  ValuePair read(const Value& value) const;
  void compare(const Name& name);
  void compare_read(const Name& name);
  void compare_from(Name first, const std::thread::id* only);

  const Ref<Backend> plain_;
  const Comparison comparison_;
  const bool contracts_;
  mutable std::mutex mutex_;  // guards the rest and the content of Both; nothing runs or is destroyed under it
  std::map<Name, std::weak_ptr<ValuePair>> unchecked_;
  std::int64_t made_ = 0;
};

/// The type whose rounding the op may have beside that of its results: float16 under Float32Precision::High.
std::optional<DType> rounding_of(const op::Op& op);
/// The coarser of two float types; other types are finer than any.
std::optional<DType> coarser(std::optional<DType> rounded, DType dtype);
/// Copies of the values in memory of their own, in the same order.
Values copies(const Ref<Backend>& from, Inputs values, const Device& to);
/// "add of float32 [2, 3], 1.5"
std::string described_call(const op::Op& op, Inputs in);

}  // namespace kiln
