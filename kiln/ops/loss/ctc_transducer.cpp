#include "kiln/ops/loss/ctc_transducer.hpp"

#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/loss/ctc_transducer_ops.hpp"

namespace kiln {
namespace {

/// What both losses take besides their scores: [batch, label], and [batch] times and labels of each sequence.
struct Sequences {
  const Value &targets, &times, &sizes;
};

void check(std::string_view function, const Sequences& sequences, std::int64_t batch, std::int64_t classes,
           std::int64_t blank) {
  const auto& [targets, times, sizes] = sequences;
  op::require_index(function, targets);
  require<ShapeError>(targets.rank() == 2 && targets.shape()[0] == batch, function,
                      ": targets must be [batch, label] with a batch of ", batch, ", got ", targets);
  for (const Value& lengths : {times, sizes}) {
    op::require_index(function, lengths);
    require<ShapeError>(lengths.shape() == Shape{batch}, function, ": lengths must have shape ", Shape{batch}, ", got ",
                        lengths);
  }
  require<IndexError>(blank >= 0 && blank < classes, function, ": blank ", blank, " is out of range for ", classes,
                      " classes");
}

/// The targets, with blanks beyond the end of each sequence.
Value within(const Value& targets, const Value& sizes, std::int64_t blank) {
  const Value index = cast(targets, DType::I64);
  const Value place = arange(0, targets.shape()[1], 1, targets.device());
  return where(lt(place, unsqueeze(cast(sizes, DType::I64), 1)), index, blank);
}

}  // namespace

Value ctc_loss(const Value& log_probs, const Value& targets, const Value& input_lengths, const Value& target_lengths,
               const CtcOptions& options, Reduction reduction) {
  op::require_float("ctc_loss", log_probs);
  require<ShapeError>(log_probs.rank() == 3, "ctc_loss: needs log_probs [time, batch, class], got ", log_probs);
  const std::int64_t time = log_probs.shape()[0], batch = log_probs.shape()[1], classes = log_probs.shape()[2];
  check("ctc_loss", {targets, input_lengths, target_lengths}, batch, classes, options.blank);

  // The states: blank, label, blank, label, ..., blank. A label may follow a different one without a blank between.
  const std::int64_t labels = targets.shape()[1];
  const std::int64_t states = add_sizes("ctc_loss", multiply_sizes("ctc_loss", 2, labels), 1);
  const Value label = within(targets, target_lengths, options.blank);
  const Value blank = full({batch, 1}, options.blank, targets.device(), DType::I64);
  const Value pairs = reshape(stack(Values{expand(blank, label.shape()), label}, 2), {batch, 2 * labels});
  const Value emitted = cat(Values{pairs, blank}, 1);
  const Value two_before = narrow(cat(Values{expand(blank, {batch, 2}), emitted}, 1), 1, 0, states);
  const Value skips = logical_and(ne(emitted, options.blank), ne(emitted, two_before));

  const DType dtype = log_probs.dtype();
  const Value wide = cast(log_probs, size_of(dtype) == 2 ? DType::F32 : dtype);
  const Value all = gather(transpose(wide, 0, 1), 2, expand(unsqueeze(emitted, 1), {batch, time, states}));
  // Frames beyond the end of a sequence reach nothing.
  const Value there = lt(arange(0, time, 1, targets.device()), unsqueeze(input_lengths, 1));
  const Value scores = where(unsqueeze(there, 2), all, 0.0);
  const Value sizes = cast(target_lengths, DType::I64);
  Value losses = emit_all(op::Ctc{}, {scores, skips, cast(input_lengths, DType::I64), 2 * sizes + 1})[op::Ctc::loss];
  if (options.zero_infinity) losses = where(is_inf(losses), 0.0, losses);
  if (reduction == Reduction::Mean) losses = losses / cast(maximum(sizes, 1), losses.dtype());
  return cast(reduced(losses, reduction), dtype);
}

Value rnnt_loss(const Value& logits, const Value& targets, const Value& logit_lengths, const Value& target_lengths,
                const RnntOptions& options, Reduction reduction) {
  op::require_float("rnnt_loss", logits);
  require<ShapeError>(logits.rank() == 4, "rnnt_loss: needs logits [batch, time, label + 1, class], got ", logits);
  const std::int64_t batch = logits.shape()[0], time = logits.shape()[1], classes = logits.shape()[3];
  check("rnnt_loss", {targets, logit_lengths, target_lengths}, batch, classes, options.blank);
  const std::int64_t labels = targets.shape()[1], places = add_sizes("rnnt_loss", labels, 1);
  require<ShapeError>(logits.shape()[2] == places, "rnnt_loss: logits ", logits.shape(), " have ", logits.shape()[2],
                      " places for ", labels, " labels; ", places, " are needed");

  const DType dtype = logits.dtype();
  // Frames and labels beyond the end of a sequence reach nothing, and get no gradient.
  const auto before = [&](std::int64_t count, const Value& lengths, bool last) {
    const Value place = arange(0, count, 1, logits.device()), end = unsqueeze(lengths, 1);
    return last ? le(place, end) : lt(place, end);
  };
  const Value there =
      logical_and(unsqueeze(before(time, logit_lengths, false), 2), unsqueeze(before(places, target_lengths, true), 1));
  const Value inside = where(unsqueeze(there, 3), logits, 0.0);
  const Value scores = log_softmax(cast(inside, size_of(dtype) == 2 ? DType::F32 : dtype), 3);
  const Value next = within(targets, target_lengths, options.blank);
  const Value index = expand(reshape(next, {batch, 1, labels, 1}), {batch, time, labels, 1});
  const Value label_scores = squeeze(gather(narrow(scores, 2, 0, labels), 3, index), 3);
  const Value losses =
      emit_all(op::Rnnt{}, {at(scores, 3, options.blank), label_scores, cast(logit_lengths, DType::I64),
                            cast(target_lengths, DType::I64)})[op::Rnnt::loss];
  return cast(reduced(losses, reduction), dtype);
}

}  // namespace kiln
