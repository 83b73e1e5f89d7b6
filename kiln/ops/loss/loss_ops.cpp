#include "kiln/ops/loss/loss_ops.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
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
  return one({in[logits].shape()[0]}, in[logits].dtype());
}

Values CrossEntropy::expand(Inputs in) const {
  const Value logs = log_softmax(in[logits], 1);
  return {neg(squeeze(gather(logs, 1, unsqueeze(in[targets], 1)), 1))};
}

void CrossEntropy::vjp(Backward& backward) const {
  backward.to(logits, [&] {
    const Value& scores = backward.in(logits);
    const Value chosen = one_hot(backward.in(targets), scores.shape()[1], scores.dtype());
    return (softmax(scores, 1) - chosen) * unsqueeze(backward.grad(), 1);
  });
}

}  // namespace op

Value cross_entropy_each(const Value& logits, const Value& targets) {
  return emit(op::CrossEntropy{}, {logits, targets});
}

}  // namespace kiln
