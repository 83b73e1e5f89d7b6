// Conditions around barriers, for devices that must see that all threads take the same way.
#include <map>

#include "kiln/backend/gpu/kernel/lower/flow.hpp"
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

/// A barrier that only some threads get to is an error, so what decides about one is the same for all of them, and they
/// may take it from the first.
class Conditions final : public Rewrite {
 public:
  explicit Conditions(const Kernel& from) : Rewrite(from), flow_(from, Flow::By::Compiler, true) {}

 private:
  Expr decider(const Statement& statement, Id id) override {
    const Expr& x = at(id);
    if (flow_.is_same(id) || !holds_barrier(statement)) return x;
    const bool is_truth = x.type() == DType::Bool;
    const Shared passed = memory(is_truth ? DType::U32 : x.type());
    const Expr first = k_.literal(DType::I32, 0);
    k_.when(k_.thread() == 0, [&] { passed.store(first, is_truth ? x.as(DType::U32) : x); });
    const Expr made = passed.same(first);
    return is_truth ? made != 0 : made;
  }
  Shared memory(DType dtype) {
    if (const auto known = memory_.find(dtype); known != memory_.end()) return known->second;
    return memory_.emplace(dtype, k_.shared(dtype, 1)).first->second;
  }

  const Flow flow_;
  std::map<DType, Shared> memory_;
};

}  // namespace

Kernel with_common_conditions(const Kernel& kernel) { return Conditions(kernel).run(); }

}  // namespace kiln::gpu::lower
