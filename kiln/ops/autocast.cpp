#include "kiln/ops/autocast.hpp"

#include <algorithm>

#include "kiln/ops/composite.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/scope.hpp"

namespace kiln {
namespace {

thread_local DType current = DType::F32;

template <class T, class... Ts>
constexpr bool is_one_of = (std::is_same_v<T, Ts> || ...);

enum class Wants : std::uint8_t { Half, Single, Any };

Wants wants(const op::Op& op) {
  return op::visit(op, []<class T>(const T& o) {
    using namespace kiln::op;
    if (T::kPattern == Pattern::Contraction || std::is_same_v<T, Attention>) return Wants::Half;
    if (is_one_of<T, Softmax, LayerNorm, Scan, CrossEntropy, Ctc, Rnnt>) return Wants::Single;
    if constexpr (std::is_same_v<T, Reduce>)
      return o.fn == ReduceFn::Sum || o.fn == ReduceFn::Mean || o.fn == ReduceFn::Prod ? Wants::Single : Wants::Any;
    return Wants::Any;
  });
}

}  // namespace

Autocast::Autocast(DType dtype) : before_(current) {
  require<ArgumentError>(dtype == DType::F32 || op::is_half(dtype),
                         "Autocast: must be bfloat16, float16 or float32, got ", dtype);
  current = dtype;
}
Autocast::~Autocast() { current = before_; }
DType autocast_dtype() { return current; }

Inputs autocast(const op::Op& op, Inputs in, Values& held) {
  const Wants wanted = wants(op);
  if (wanted == Wants::Any) return in;
  const auto changes = [&](const Value& operand) {
    if (!operand.node()) return false;
    return wanted == Wants::Half ? operand.dtype() == DType::F32 : op::is_half(operand.dtype());
  };
  if (std::none_of(in.begin(), in.end(), changes)) return in;
  held.assign(in.begin(), in.end());
  for (Value& operand : held)
    if (changes(operand)) operand = cast(operand, wanted == Wants::Half ? current : DType::F32);
  return held;
}

}  // namespace kiln
