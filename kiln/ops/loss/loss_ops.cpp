#include "kiln/ops/loss/loss_ops.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/composite.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {

Descs CrossEntropy::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_float(kName, in[logits]);
  require_index(kName, in[targets]);
  require<ShapeError>(in[logits].rank() == 2 && in[targets].shape() == Shape{in[logits].shape()[0]},
                      "cross_entropy: needs logits [batch, classes] and targets [batch], got ", in[logits].shape(),
                      " and ", in[targets].shape());
  const DType given = in[logits].dtype();
  require<ArgumentError>(dtype == given || dtype == wide(given), "cross_entropy: no losses of ", dtype,
                         " of logits of ", given);
  const Shape rows{in[logits].shape()[0]};
  return {{rows, dtype}, {rows, wide(given)}, {rows, wide(given)}};
}

Values CrossEntropy::expand(Inputs in) const {
  const Value scores = cast(in[logits], wide(in[logits].dtype())), most = max(scores, {1}, true);
  const Value shifted = scores - most, logs = log(sum(exp(shifted), {1}));
  return {cast(logs - squeeze(gather(shifted, 1, unsqueeze(in[targets], 1)), 1), dtype), squeeze(most, 1), logs};
}

void CrossEntropy::vjp(Backward& backward) const {
  backward.to(logits, [&] {
    const Value& scores = backward.in(logits);
    const DType type = wide(scores.dtype());
    const auto of_rows = [&](const Value& x) { return unsqueeze(cast(x, type), 1); };
    // Softmax kernels hold rows of up to this length; for longer rows the softmax would be a tensor that is written and
    // read again.
    constexpr std::int64_t kLongRow = 1 << 14;
    const Value wide_scores = cast(scores, type);
    const Value shares = scores.dim(1) <= kLongRow
                             ? softmax(wide_scores, 1)
                             : exp(wide_scores - of_rows(backward.out(largest)) - of_rows(backward.out(log_sum)));
    Value total;
    if (backward.grad_if_any(losses)) {
      const Value chosen = one_hot(backward.in(targets), scores.shape()[1], type);
      total = (shares - chosen) * of_rows(backward.grad(losses));
    }
    if (const Value& of_sum = backward.grad_if_any(log_sum)) {
      const Value more = shares * of_rows(of_sum);
      total = total ? total + more : more;
    }
    return cast(total ? total : zeros_like(shares), scores.dtype());
  });
}

}  // namespace op

Value cross_entropy_each(const Value& logits, const Value& targets) {
  op::require_tensor("cross_entropy", logits);
  const DType dtype = autocast_dtype() == DType::F32 ? logits.dtype() : op::wide(logits.dtype());
  return emit_all(op::CrossEntropy{dtype}, {logits, targets})[op::CrossEntropy::losses];
}

}  // namespace kiln
