// Shuffles through shared memory.
#include <map>

#include "kiln/backend/gpu/kernel/lower/flow.hpp"
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

using Kind = Instruction::Kind;

class Shuffles final : public Rewrite {
 public:
  explicit Shuffles(const Kernel& from) : Rewrite(from), flow_(from) {}

 private:
  std::vector<Exprs> values(const Instruction& in) override {
    if (in.kind == Kind::Fragments) refuse("products of fragments need lanes that share them");
    if (in.kind != Kind::Shuffle) return copied(in);
    if (!together_)
      refuse("a shuffle that perhaps not all threads of a block get to does not go through shared memory");
    const Expr &x = at(in.operands[0]), &lane = at(in.operands[1]);
    const bool is_truth = x.type() == DType::Bool;
    const Shared passed = memory(is_truth ? DType::I32 : x.type());
    passed.store(k_.thread(), is_truth ? x.as(DType::I32) : x);
    k_.barrier();
    const Expr made = passed[k_.warp() * kLanes + lane];
    k_.barrier();  // before the next shuffle stores
    return {{is_truth ? made != 0 : made}};
  }
  Shared memory(DType dtype) {
    if (const auto known = memory_.find(dtype); known != memory_.end()) return known->second;
    return memory_.emplace(dtype, k_.shared(dtype, k_.threads())).first->second;
  }

  void statement(const Statement& statement) override {
    const bool before = together_;
    together_ = together_ && flow_.are_same(statement.operands);
    copy(statement);
    together_ = before;
  }

  const Flow flow_;
  bool together_ = true;  // do all threads of the block get here, or none?
  std::map<DType, Shared> memory_;
};

}  // namespace

Kernel with_shared_shuffles(const Kernel& kernel) { return Shuffles(kernel).run(); }

}  // namespace kiln::gpu::lower
