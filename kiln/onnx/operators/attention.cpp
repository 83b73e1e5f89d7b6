// Attention and what goes with it.
#include <cmath>
#include <limits>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/heads.hpp"
#include "kiln/onnx/passes/shape_rules.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value for_each_head(const Call& c, const Value& x, std::int64_t heads) {
  c.check(x.dim(1) > 0 && heads % x.dim(1) == 0, heads, " heads of queries share ", x.dim(1), " of keys");
  return x.dim(1) == heads ? x : repeat_interleave(x, heads / x.dim(1), 1);
}

// The mask of the keys that a query may see by its position: [batch or 1, 1, queries, keys]; empty where it may see all.
Value visible(const Call& c, std::int64_t queries, std::int64_t keys, std::int64_t past) {
  const bool causal = c.i("is_causal", 0) != 0;
  const std::int64_t left = c.i("left_window_size", -1), right = c.i("right_window_size", -1);
  const Ints lengths = c.ints(6);
  const Device& device = c.device();
  const Value key = reshape(arange(0, keys, 1, device), {1, 1, 1, keys});
  Value offset = full({1, 1, 1, 1}, past, device, DType::I64), seen;
  const auto also = [&](const Value& mask) { seen = seen.empty() ? mask : logical_and(seen, mask); };
  if (!lengths.empty()) {
    const Value count = reshape(from_ints(lengths, device), {static_cast<std::int64_t>(lengths.size()), 1, 1, 1});
    also(lt(key, count));
    if (!c.has(4)) offset = count - queries;
  }
  const Value place = reshape(arange(0, queries, 1, device), {1, 1, queries, 1}) + offset;
  if (causal) also(le(key, place));
  if (left >= 0) also(ge(key, place - left));
  if (right >= 0) also(le(key, place + right));
  return seen;
}

// Scores of what is not to be seen are minus infinity; a row of such gives zeros.
Value softmax_or_zeros(const Value& scores) {
  const Value weights = softmax(scores, -1);
  const Value none = eq(max(scores, {-1}, true), -kInfinity);
  return where(none, zeros_like(weights), weights);
}

// Kiln has a kernel for the attention: the scores are no output, and the keys that a query sees follow from a mask of all
// keys, or from its position.
bool is_plain(const Call& c, const Value& q, std::int64_t keys, std::int64_t past) {
  const bool windowed = c.i("left_window_size", -1) >= 0 || c.i("right_window_size", -1) >= 0;
  const bool side_by_side = c.i("is_causal", 0) == 0 || q.dim(2) == keys - past;
  const bool masked = !c.has(3) || (c[3].rank() > 0 && (c[3].dim(-1) == keys || c[3].dim(-1) == 1) &&
                                    (c[3].dtype() == DType::Bool || c[3].dtype() == q.dtype()));
  const bool precise = c.element("softmax_precision", Element::Float) == Element::Float;
  return (q.dtype() == DType::F32 || q.dtype() == DType::F64) && !c.wants(3) && !c.has(6) && !windowed &&
         side_by_side && masked && precise;
}

Results attention_of(Call& c) {
  const Value &q_in = c[0], &k_in = c[1], &v_in = c[2];
  const bool flat = q_in.rank() == 3;
  const DType type = q_in.dtype();
  const std::int64_t q_heads = flat ? c.i("q_num_heads", 0) : q_in.dim(1),
                     kv_heads = flat ? c.i("kv_num_heads", 0) : k_in.dim(1);
  const Value q = heads_apart(c, q_in, q_heads);
  Value k = heads_apart(c, k_in, kv_heads), v = heads_apart(c, v_in, kv_heads);
  c.check(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, "Q ", q_in.shape(), ", K ", k_in.shape(), ", V ",
          v_in.shape());
  std::int64_t past = 0;
  if (c.has(4)) {
    past = c[4].dim(2);
    const Value keys[] = {c[4], k}, values[] = {c[5], v};
    k = cat(keys, 2), v = cat(values, 2);
  }
  const double scale = c.f("scale", 1 / std::sqrt(static_cast<double>(q.dim(3)))), root = std::sqrt(scale);
  if (is_plain(c, q, k.dim(2), past)) {
    const Value mask = c.get(3);
    const bool flags = c.has(3) && mask.dtype() == DType::Bool;
    const AttentionOptions options{.causal = c.i("is_causal", 0) != 0, .scale = scale, .softcap = c.f("softcap", 0)};
    const Value y = attention(q, k, v, options, flags ? mask : Value(), flags ? Value() : mask);
    return {flat ? heads_together(y) : y, k, v};
  }
  const DType wide = wide_type(type);
  const Value all_k = for_each_head(c, of_type(k, wide), q_heads), all_v = for_each_head(c, of_type(v, wide), q_heads);
  Value scores = matmul(of_type(q, wide) * root, transpose(all_k * root));
  const std::int64_t mode = c.i("qk_matmul_output_mode", 0), keys = k.dim(2);
  Value shown_scores = scores;
  if (const double cap = c.f("softcap", 0); cap != 0) scores = tanh(scores / cap) * cap;
  if (mode == 1) shown_scores = scores;
  if (c.has(3)) {
    Value mask = c[3];
    const bool flags = mask.dtype() == DType::Bool;
    if (mask.rank() > 0 && mask.dim(-1) < keys && mask.dim(-1) != 1) {
      Dims before = Dims::filled(mask.rank(), 0), after = before;
      after[mask.rank() - 1] = keys - mask.dim(-1);
      mask = flags ? cast(pad(cast(mask, DType::U8), before, after, 0), DType::Bool)
                   : pad(mask, before, after, -kInfinity);
    }
    scores = flags ? where(mask, scores, -kInfinity) : scores + of_type(mask, wide);
  }
  if (const Value seen = visible(c, q.dim(2), keys, past); !seen.empty()) scores = where(seen, scores, -kInfinity);
  if (mode == 2) shown_scores = scores;
  const DType precision =
      c.given("softmax_precision") ? dtype_of(c.element("softmax_precision", Element::Float)) : wide;
  const Value weights = of_type(softmax_or_zeros(of_type(scores, precision)), wide);
  if (mode == 3) shown_scores = weights;
  Value y = of_type(matmul(weights, all_v), type);
  if (flat) y = heads_together(y);
  return {y, k, v, of_type(shown_scores, type)};
}

Results rotary_embedding(Call& c) {
  const Value& in = c[0];
  const bool flat = in.rank() == 3;
  const Value x = heads_apart(c, in, c.i("num_heads", 0));  // [batch, heads, time, width]
  c.check(x.rank() == 4, "x has the shape ", in.shape());
  const std::int64_t width = x.dim(3), given = c.i("rotary_embedding_dim", 0), rotated = given > 0 ? given : width;
  c.check(rotated <= width && rotated % 2 == 0, rotated, " of ", width, " elements are to be rotated");
  const auto table = [&](int i) {
    Value t = c[i];
    if (c.has(3)) {
      const Value places = of_type(c[3], DType::I64);
      t = reshape(select(t, 0, reshape(places, {places.numel()})), {places.dim(0), places.dim(1), t.dim(1)});
    }
    c.check(t.rank() == 3 && t.dim(2) == rotated / 2, "a table has the shape ", t.shape(), " for ", rotated,
            " elements");
    return of_type(unsqueeze(t, 1), wide_type(in.dtype()));
  };
  const Value cosine = table(1), sine = table(2), part = of_type(narrow(x, 3, 0, rotated), wide_type(in.dtype()));
  const bool neighbours = c.i("interleaved", 0) != 0;
  const Value pairs = neighbours ? reshape(part, {x.dim(0), x.dim(1), x.dim(2), rotated / 2, 2}) : part;
  const Value a = neighbours ? at(pairs, 4, 0) : narrow(part, 3, 0, rotated / 2);
  const Value b = neighbours ? at(pairs, 4, 1) : narrow(part, 3, rotated / 2, rotated / 2);
  const Value both[] = {cosine * a - sine * b, sine * a + cosine * b};
  const Value result = neighbours ? reshape(stack(both, 4), part.shape()) : cat(both, 3);
  const Value ends[] = {of_type(result, in.dtype()), narrow(x, 3, rotated, width - rotated)};
  const Value y = cat(ends, 3);
  return flat ? heads_together(y) : y;
}

// The state [batch, heads, key width, value width] decays at each time step, k v^T is added to it, and q reads it.
Results linear_attention(Call& c) {
  const std::int64_t q_heads = c.i("q_num_heads", 0), kv_heads = c.i("kv_num_heads", 0);
  const Value& q_in = c[0];
  const DType type = q_in.dtype(), wide = wide_type(type);
  const Value q = of_type(heads_apart(c, q_in, q_heads), wide), k = of_type(heads_apart(c, c[1], kv_heads), wide),
              v = of_type(heads_apart(c, c[2], kv_heads), wide);
  const std::string rule = c.word("update_rule", "gated_delta", {"linear", "gated", "delta", "gated_delta"});
  const bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  const std::int64_t batch = q.dim(0), time = q.dim(2), key_width = k.dim(3), value_width = v.dim(3);
  const double given = c.f("scale", 0), scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(q.dim(3)));
  const DType state_type = c.has(3) ? c[3].dtype() : type;
  Value state = c.has(3) ? of_type(c[3], wide) : zeros({batch, kv_heads, key_width, value_width}, c.device(), wide);
  Value decay, rate;
  if (gated) decay = exp(of_type(heads_apart(c, c[4], kv_heads), wide));  // [batch, heads, time, key width or 1]
  if (delta) {
    const Value beta = of_type(c[5], wide);  // [batch, time, heads or 1]
    rate = unsqueeze(permute(beta, {0, 2, 1}), 3);
  }
  c.count_trips(time);
  std::vector<Value> outputs;
  for (std::int64_t t = 0; t < time; ++t) {
    const Value key = unsqueeze(at(k, 2, t), 3), value = unsqueeze(at(v, 2, t), 2);  // a column and a row
    if (gated) state = state * unsqueeze(at(decay, 2, t), 3);
    Value fresh = value;
    if (delta) fresh = (value - matmul(transpose(key), state)) * unsqueeze(at(rate, 2, t), 3);
    state = state + key * fresh;
    const Value query = unsqueeze(at(q, 2, t), 2);
    outputs.push_back(squeeze(matmul(query, for_each_head(c, state, q_heads)), 2) * scale);
  }
  const Value y = time ? stack(outputs, 2) : zeros({batch, q_heads, 0, value_width}, c.device(), wide);
  return {of_type(heads_together(y), type), of_type(state, state_type)};
}

// Attention whose scores and weights go through graphs of the user's.
Results flex_attention(Call& c) {
  const Value &q = c[0], &k = c[1], &v = c[2];
  c.check(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, "Q ", q.shape(), ", K ", k.shape(), ", V ", v.shape());
  const DType type = q.dtype();
  const Element precision = c.element("softmax_precision", type == DType::F64 ? Element::Double : Element::Float);
  const DType wide = dtype_of(precision);
  const double scale = c.f("scale", 1 / std::sqrt(static_cast<double>(q.dim(3))));
  Value scores = matmul(of_type(q, wide), transpose(for_each_head(c, of_type(k, wide), q.dim(1)))) * scale;
  const auto changed = [&](const char* name, const Value& x) {
    if (!c.given(name)) return x;
    const std::vector<Datum> out = c.run(c.subgraph(name), {Datum(x)});
    c.check(out.size() == 1 && out[0].value().shape() == x.shape(), name, " does not keep the shape ", x.shape());
    return of_type(out[0].value(), wide);
  };
  const Value weights = changed("prob_mod", softmax(changed("score_mod", scores), -1));
  return of_type(matmul(weights, for_each_head(c, of_type(v, wide), q.dim(1))), type);
}

constexpr OperatorRow kAttentionRows[] = {
    {"Attention", 23, attention_of, {.shape = shape_rules::attention}},
    {"LinearAttention", 27, linear_attention},
    {"RotaryEmbedding", 23, rotary_embedding},
};
constexpr OperatorRow kPreview[] = {
    {"FlexAttention", 1, flex_attention, {.rank = ResultRank::OfData}},
};

}  // namespace

std::span<const OperatorRow> attention_rows() { return kAttentionRows; }
std::span<const OperatorRow> preview_rows() { return kPreview; }

}  // namespace kiln::onnx
