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

/// How operations are compared, wherever that happens.
struct Comparison {
  VerifyOptions options;
  std::shared_ptr<VerifyCount> count = std::make_shared<VerifyCount>();

  /// Empty where two results agree; otherwise what difference() says. `exact`: the numbers are to be the same, unless
  /// both were `rounded` on the way in their own manner, as a sum may be taken in another order. Whole numbers and truth
  /// values are then anybody's guess, and are not compared. `terms`: the magnitude of what cancels out in them.
  std::string differ(const TensorData& actual, const TensorData& expected, bool exact,
                     std::optional<DType> rounded = {}, double terms = 0) const;
};

/// Does a device round what it multiplies and adds only once, where that is fused?
bool contracts(const Backend& backend);

/// Compares what each operation gives with what it is made of, or with the reference, or with itself on copies of its
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
  const Device one_by_one_;  // what is compared with, which runs the steps of planned ops by themselves
};

/// Wraps a backend that runs operations later and others than it was given, and runs them one by one as well, on
/// `plain`, each on operands of its own: what is kept of one for later uses cannot be seen in these results. Any number
/// of threads may use it.
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
  struct Both;
  struct Twins;
  class ComparedRead;
  using Name = std::pair<std::thread::id, std::int64_t>;  // who asked for a value, and its age
  Ref<Storage> twins(Value fused, Value plain, std::optional<DType> rounded, std::string made_by);
  Both read(const Value& value) const;
  void compare(const Name& name);
  void compare_read(const Name& name);
  void compare_from(Name first, const std::thread::id* only);

  const Ref<Backend> plain_;
  const Comparison comparison_;
  const bool contracts_;
  mutable std::mutex mutex_;  // of what follows and of what Both holds; nothing runs and nothing ends under it
  std::map<Name, std::weak_ptr<Both>> unchecked_;
  std::int64_t made_ = 0;
};

/// The coarser of two types of floats; other types are finer than any.
std::optional<DType> coarser(std::optional<DType> rounded, DType dtype);
/// The same values in memory of their own, in the same order.
Values copies(const Ref<Backend>& from, Inputs values, const Device& to);
/// "add of float32 [2, 3], 1.5"
std::string described_call(const op::Op& op, Inputs in);

}  // namespace kiln
