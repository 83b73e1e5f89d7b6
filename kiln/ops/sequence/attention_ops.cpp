#include "kiln/ops/sequence/attention_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/composite.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

void require_broadcasts(const Value& operand, std::string_view name, const Shape& scores) {
  require_tensor("attention", operand);
  bool fits = operand.rank() <= scores.size();
  for (int i = 1; fits && i <= operand.rank(); ++i) {
    const std::int64_t size = operand.dim(-i), wanted = scores[scores.size() - i];
    fits = size == wanted || size == 1;
  }
  require<ShapeError>(fits, "attention: the ", name, " ", operand.shape(), " does not broadcast to ", scores,
                      ", which is [batch, heads, queries, keys]");
}

/// Checks the operands of both ops; returns [batch, heads, queries, keys].
Shape require_operands(Inputs in, std::int64_t window) {
  const Value &q = in[Attention::q], &k = in[Attention::k], &v = in[Attention::v];
  require_float("attention", q);
  for (const Value& other : {k, v}) {
    require_tensor("attention", other);
    require_same_dtype("attention", q, other);
  }
  require<ShapeError>(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, "attention: q ", q.shape(), ", k ", k.shape(),
                      " and v ", v.shape(), " must be [batch, heads, time, width]");
  const Shape &a = q.shape(), &b = k.shape(), &c = v.shape();
  require<ShapeError>(b[0] == a[0] && c[0] == a[0] && b[3] == a[3] && c[1] == b[1] && c[2] == b[2], "attention: q ", a,
                      ", k ", b, " and v ", c, " must agree in batch, q and k in width, k and v in heads and time");
  require<ShapeError>(b[1] > 0 && a[1] % b[1] == 0, "attention: the ", b[1], " heads of k ", b, " do not divide the ",
                      a[1], " of q ", a);
  const Shape scores{a[0], a[1], a[2], b[2]};
  if (const Value& mask = in[Attention::mask]) {
    require_broadcasts(mask, "mask", scores);
    require<DTypeError>(mask.dtype() == DType::Bool, "attention: the mask must be boolean, got ", mask);
  }
  if (const Value& bias = in[Attention::bias]) {
    require_broadcasts(bias, "bias", scores);
    require_same_dtype("attention", q, bias);
  }
  require<ArgumentError>(window >= 0, "attention: the window must not be negative, got ", window);
  require<ArgumentError>(in[Attention::scale].is_scalar(), "attention: the scale must be a plain number, got ",
                         in[Attention::scale]);
  const Value& softcap = in[Attention::softcap];
  require<ArgumentError>(softcap.empty() || (softcap.is_scalar() && softcap.scalar().to<double>() > 0),
                         "attention: softcap must be a positive number, got ", softcap);
  return scores;
}

/// Places the rows of heads that share a head of k one after the other: [batch, kv_heads, rows, n].
Value by_kv_head(const Value& x, const Value& k) {
  const Shape& shape = x.shape();
  return reshape(x, {shape[0], k.dim(1), shape[1] / k.dim(1) * shape[2], shape[3]});
}

/// x [batch, heads, queries, n] times y [batch, kv_heads, n, m], each head with the one it shares.
Value multiply(const Value& x, const Value& y) {
  return reshape(matmul(by_kv_head(x, y), y), {x.dim(0), x.dim(1), x.dim(2), y.dim(3)});
}
/// The adjoint in y: x^T g, summed over the heads that share a head of y.
Value multiply_transposed(const Value& x, const Value& g, const Value& y) {
  return matmul(transpose(by_kv_head(x, y)), by_kv_head(g, y));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// Hidden pairs must affect neither results nor gradients of any order. A weight of 0 times NaN or infinity is NaN, so
// products are taken of the finite elements, and the others are added only where they are visible.

/// The keys that a query may see, as a mask: empty where it sees all.
Value visible(const Value& mask, const Value& bias, bool causal, std::int64_t window, std::int64_t queries,
              std::int64_t keys, const Device& device) {
  Value seen = mask;
  const auto also = [&](const Value& more) { seen = seen ? logical_and(seen, more) : more; };
  if (causal || window > 0) also(window_mask({queries, keys}, window, causal, device));
  if (bias) also(ne(bias, -kInfinity));
  return seen;
}

Value finite(const Value& x) { return where(is_finite(x), x, 0.0); }
Value counted(const Value& flags, const Value& like) { return cast(flags, like.dtype()); }

/// The contribution of non-finite elements to a product: there are `all` of them, and `upwards` more are plus infinity
/// than minus infinity. It is NaN if one of them is NaN or is multiplied by 0.
Value infinite(const Value& all, const Value& upwards) {
  const Value sum = where(eq(upwards, all), kInfinity, where(eq(upwards, neg(all)), -kInfinity, kNan));
  return where(eq(all, 0), 0.0, sum);
}
Value signs(const Value& infinities) {
  return counted(eq(infinities, kInfinity), infinities) - counted(eq(infinities, -kInfinity), infinities);
}

/// multiply() for weights [batch, heads, queries, keys], which are 0 where `seen` is false.
Value multiply_seen(const Value& weights, const Value& y, const Value& seen) {
  if (!seen) return multiply(weights, y);
  const Value pairs = counted(expand(seen, weights.shape()), y);
  const Value all = multiply(pairs, counted(logical_not(is_finite(y)), y));
  return multiply(weights, finite(y)) + infinite(all, multiply(sign(weights.detach()), signs(y)));
}
/// multiply_transposed() for such weights.
Value multiply_transposed_seen(const Value& weights, const Value& g, const Value& y, const Value& seen) {
  if (!seen) return multiply_transposed(weights, g, y);
  const Value pairs = counted(expand(seen, weights.shape()), g);
  const Value all = multiply_transposed(pairs, counted(logical_not(is_finite(g)), g), y);
  const Value upwards = multiply_transposed(sign(weights.detach()), signs(g), y);
  return multiply_transposed(weights, finite(g), y) + infinite(all, upwards);
}
/// x [batch, heads, queries, n] times y [batch, kv_heads, keys, n], transposed. Its gradient, which is 0 for hidden
/// pairs, must not be multiplied by NaN or infinity there.
Value multiply_rows(const Value& x, const Value& y, const Value& seen) {
  const Value product = multiply(x, transpose(y));
  if (!seen || !product.tracked()) return product;
  return where(is_finite(product), multiply(finite(x), transpose(finite(y))), product.detach());
}

/// The scores, and the derivative of the cap where there is one.
struct Scores {
  Value scores, slope, seen;
};
template <class Op>
Scores scores_of(const Op& op, Inputs in) {
  const Value &q = in[Op::q], &k = in[Op::k], &bias = in[Op::bias];
  const Value seen = visible(in[Op::mask], bias, op.causal, op.window, q.dim(2), k.dim(2), q.device());
  Value x = multiply_rows(q * in[Op::scale], k, seen), slope;
  if (const Value& cap = in[Op::softcap]) {
    if (seen) x = where(seen, x, 0.0);
    const Value t = tanh(x / cap);
    slope = 1 - square(t);
    x = t * cap;
  }
  if (bias) x = x + bias;
  if (seen) x = where(seen, x, -kInfinity);
  return {x, slope, seen};
}

/// Replaces -inf, the maximum over no keys, by 0: then exp(-inf - shift) is 0 and not NaN.
Value finite_shift(const Value& x) { return where(eq(x, -kInfinity), 0.0, x); }

/// x with 0 where a pair is hidden.
Value hide(const Value& seen, const Value& x) { return seen ? where(seen, x, 0.0) : x; }

/// Attention with dropout of weights, not of scores.
Value with_dropout(const Attention& op, Inputs in, const AttentionOptions& options) {
  const Descs descs = op.infer(in);
  const DType dtype = in[Attention::q].dtype();
  if (is_half(dtype)) {
    Values wide(in.begin(), in.end());
    for (Value& operand : wide)
      if (operand.node() && operand.dtype() == dtype) operand = cast(operand, DType::F32);
    return cast(with_dropout(op, wide, options), dtype);
  }
  if (in[Attention::k].dim(2) == 0) return zeros(descs[0].shape, in[Attention::q].device(), dtype);
  const auto [scores, slope, seen] = scores_of(op, in);
  const Value shift = finite_shift(max(scores, {3}, true).detach()), powers = exp(scores - shift);
  const Value total = options.quiet ? sum(powers, {3}, true) + exp(neg(shift)) : sum(powers, {3}, true);
  const Value shares = hide(seen, powers / where(eq(total, 0), 1.0, total));
  return multiply_seen(dropout(shares, options.dropout, options.key), in[Attention::v], seen);
}

}  // namespace

Descs Attention::infer(Inputs in) const {
  require_count(kName, in, 7, 7);
  const Shape scores = require_operands(in, window);
  Descs descs = one({scores[0], scores[1], scores[2], in[v].dim(3)}, in[q].dtype());
  descs.push_back({{scores[0], scores[1], scores[2]}, wide(in[q].dtype())});
  return descs;
}

Values Attention::expand(Inputs in) const {
  const DType dtype = in[q].dtype();
  if (is_half(dtype)) return in_float32(*this, in);
  const Shape rows{in[q].dim(0), in[q].dim(1), in[q].dim(2)};
  if (in[k].dim(2) == 0 || numel(rows) == 0) {
    const Descs descs = infer(in);
    return {zeros(descs[0].shape, in[q].device(), dtype), full(rows, -kInfinity, in[q].device(), dtype)};
  }
  const auto [scores, slope, seen] = scores_of(*this, in);
  const Value shift = finite_shift(max(scores, {3}, true));
  const Value powers = hide(seen, exp(scores - shift)), total = sum(powers, {3}, true);
  return {multiply_seen(powers, in[v], seen) / where(eq(total, 0), 1.0, total), squeeze(shift + log(total), 3)};
}

void Attention::vjp(Backward& backward) const {
  const Value g = backward.grad(), output = backward.out(0), log_sum = backward.out(1);
  const DType sums = log_sum.dtype();
  const bool of_output_alone = !backward.grad_if_any(1);
  const Value delta = sum(cast(g, sums) * cast(output, sums), {3}) - backward.grad(1);
  Values in;
  for (int i = 0; i < backward.arity(); ++i) in.push_back(backward.in_if_any(i));
  in.insert(in.end(), {g, log_sum, delta, of_output_alone ? output : Value()});
  if (backward.wants(q) || backward.wants(k) || backward.wants(v)) {
    const Values results = emit_differentiable(AttentionGrad{causal, window}, in);
    for (const Slot slot : {q, k, v}) backward.to(slot, [&] { return results[static_cast<std::size_t>(slot)]; });
  }
  backward.to(bias, [&] { return emit_differentiable(AttentionGrad{causal, window, true}, in)[0]; });
}

Descs AttentionGrad::infer(Inputs in) const {
  require_count(kName, in, 11, 11);
  const Shape scores = require_operands(in, window);
  require_like(kName, in[grad], {scores[0], scores[1], scores[2], in[v].dim(3)}, in[q].dtype());
  for (const Slot slot : {log_sum, delta})
    require_like(kName, in[slot], {scores[0], scores[1], scores[2]}, wide(in[q].dtype()));
  if (in[out]) require_like(kName, in[out], in[grad].shape(), in[q].dtype());
  if (of_bias) require_tensor(kName, in[bias]);
  if (of_bias) return one(in[bias].shape(), in[bias].dtype());
  Descs descs;
  for (const Slot slot : {q, k, v}) descs.push_back({in[slot].shape(), in[slot].dtype()});
  return descs;
}

Values AttentionGrad::expand(Inputs in) const {
  if (is_half(in[q].dtype())) return in_float32(*this, in);
  const auto [scores, slope, seen] = scores_of(*this, in);
  const Value shares = hide(seen, exp(scores - unsqueeze(finite_shift(in[log_sum]), 3)));
  const Value inner = hide(seen, shares * (multiply_rows(in[grad], in[v], seen) - unsqueeze(in[delta], 3)));
  if (of_bias) return {sum_to(inner, in[bias].shape())};
  const Value outer = (slope ? inner * slope : inner) * in[scale];
  return {multiply_seen(outer, in[k], seen), multiply_transposed_seen(outer, in[q], in[k], seen),
          multiply_transposed_seen(shares, in[grad], in[v], seen)};
}

void AttentionGrad::vjp(Backward&) const {
  fail<AutodiffError>("attention_grad: has no gradient; differentiate attention with create_graph");
}

/// Counts q k' and p v for all pairs; the work that a mask saves is not deducted.
double Attention::flops(Inputs in, Inputs) const {
  const Shape &q = in[Slot::q].shape(), &k = in[Slot::k].shape(), &v = in[Slot::v].shape();
  return 2.0 * static_cast<double>(q[0] * q[1]) * static_cast<double>(q[2] * k[2]) * static_cast<double>(q[3] + v[3]);
}

/// Five products where the forward pass has two.
double AttentionGrad::flops(Inputs in, Inputs out) const { return 2.5 * Attention{}.flops(in, out); }

}  // namespace op

Value attention(const Value& q, const Value& k, const Value& v, const AttentionOptions& options, const Value& mask,
                const Value& bias) {
  for (const Value& value : {q, k, v}) op::require_float("attention", value);
  DType dtype = promote(q.dtype(), promote(k.dtype(), v.dtype()));
  if (dtype == DType::F32) dtype = autocast_dtype();  // cast directly to `dtype`, not through float32
  require<ShapeError>(q.rank() == 4, "attention: q ", q.shape(), " must be [batch, heads, time, width]");
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(q.dim(3), 1))));
  require<ArgumentError>(!options.window || *options.window > 0, "attention: the window must be positive, got ",
                         options.window.value_or(0));
  require<ArgumentError>(options.dropout >= 0 && options.dropout <= 1, "attention: a dropout of ", options.dropout,
                         " is not between 0 and 1");
  require<ArgumentError>(options.softcap >= 0, "attention: softcap must not be negative, got ", options.softcap);
  const op::Attention op{options.causal, options.window.value_or(0)};
  const Values in{cast(q, dtype),
                  cast(k, dtype),
                  cast(v, dtype),
                  mask,
                  bias ? cast(bias, dtype) : bias,
                  scale,
                  options.softcap > 0 ? Value(options.softcap) : Value()};
  if (options.dropout > 0) return op::with_dropout(op, in, options);
  const Values out = emit_all(op, in);
  if (!options.quiet) return out[0];
  // A further score of 0 leaves the others the fraction exp(log_sum) / (1 + exp(log_sum)) of their weights.
  return out[0] * cast(unsqueeze(sigmoid(out[1]), 3), out[0].dtype());
}

Value window_mask(const Shape& sizes, std::int64_t window, bool causal, const Device& device) {
  require<ShapeError>(sizes.size() == 2, "window_mask: needs [queries, keys], got ", sizes);
  const std::int64_t queries = sizes[0], keys = sizes[1];
  require<ArgumentError>(queries >= 0 && keys >= 0 && window >= 0, "window_mask: ", queries, " queries, ", keys,
                         " keys and a window of ", window, " must not be negative");
  // Query i has position keys - queries + i, so that the last query is at the last key.
  const Value i = unsqueeze(arange(keys - queries, keys, 1, device), 1), j = unsqueeze(arange(0, keys, 1, device), 0);
  const Value distance = i - j;
  const Value least = causal ? Value(0) : Value(window > 0 ? 1 - window : std::numeric_limits<std::int64_t>::min());
  const Value seen = ge(distance, least);
  return window > 0 ? logical_and(seen, lt(distance, window)) : seen;
}
Value causal_mask(const Shape& sizes, const Device& device) {
  const CalledAs named("causal_mask");
  return window_mask(sizes, 0, true, device);
}
Value padding_mask(const Value& lengths, std::int64_t keys) {
  op::require_index("padding_mask", lengths);
  require<ShapeError>(lengths.rank() == 1, "padding_mask: lengths must be [batch], got ", lengths.shape());
  require<ArgumentError>(keys >= 0, "padding_mask: the number of keys must not be negative, got ", keys);
  return lt(arange(0, keys, 1, lengths.device()), reshape(lengths, {lengths.dim(0), 1, 1, 1}));
}

}  // namespace kiln
