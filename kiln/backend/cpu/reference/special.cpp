#include "kiln/ops/special/special_ops.hpp"

#include <deque>
#include <numeric>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::reference {
namespace {

constexpr std::int64_t kGrain = 1024;

/// The operands' elements in the row-major order of the result, as C.
template <class C>
class BroadcastOperands {
 public:
  explicit BroadcastOperands(Call call) {
    for (const Value& operand : call.in)
      elements_.emplace_back(operands_.emplace_back(operand, dtype_of<C>, call.out[0].shape()).array());
  }
  std::size_t size() const { return elements_.size(); }
  const RowMajor<C>& operator[](std::size_t k) const { return elements_[k]; }

 private:
  std::deque<ChunkOperand> operands_;  // these store plain numbers themselves
  std::vector<RowMajor<C>> elements_;
};

template <class C, class F>
void each_element(Call call, F&& f) {
  Result<C> z(call.out[0]);
  parallel_for(call.out[0].numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) z[i] = f(i);
  });
  z.store();
}

template <class C>
std::uint64_t magnitude(C x) {
  return x < 0 ? -static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
}

}  // namespace

template <>
void run(const op::Special& op, Call call) {
  const op::SpecialFunction function = op::function_of(op.fn);
  const BroadcastOperands<double> in(call);
  const auto operand = [&](std::size_t k, std::int64_t i) { return k < in.size() ? in[k][i] : 0; };
  each_element<double>(call, [&](std::int64_t i) { return function(operand(0, i), operand(1, i), operand(2, i)); });
}

template <>
void run(const op::Gcd&, Call call) {
  visit_compute(call.out[0].dtype(), [&]<class C>(TypeTag<C>) {
    if constexpr (std::is_integral_v<C>) {
      const BroadcastOperands<C> in(call);
      each_element<C>(
          call, [&](std::int64_t i) { return static_cast<C>(std::gcd(magnitude(in[0][i]), magnitude(in[1][i]))); });
    }
  });
}

}  // namespace kiln::cpu::reference
