// com.microsoft: attention of language models that write a word at a time: heads of queries share heads of keys, and keys
// and values of the words before are kept, in places of their own for each sequence.
#include <algorithm>
#include <cmath>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/heads.hpp"
#include "kiln/onnx/operators/lacking.hpp"
#include "kiln/onnx/operators/standard.hpp"
#include "kiln/ops/sequence/attention.hpp"

namespace kiln::onnx {
namespace {

// ai.onnx's, by places [batch, time].
Value rotated(const Call& c, const Value& x, const Value& places) {
  return standard(c, "RotaryEmbedding", 23, {Datum(x), c.datum(7), c.datum(8), Datum(places)},
                  {{"interleaved", c.i("rotary_interleaved", 0)}, {"rotary_embedding_dim", 2 * c[7].dim(-1)}})
      .value();
}

// [batch, heads, capacity, width]: `before` of the past, then what is new, then zeros.
Value continued(const Value& past, const Value& now, const Value& before, std::int64_t capacity) {
  const Value all = past.empty() ? now : cat(Values{past, now}, 2);
  const std::int64_t batch = now.dim(0), kept = all.dim(2) - now.dim(2);
  const Value slot = reshape(arange(0, capacity, 1, now.device()), {1, 1, capacity, 1});
  const Value start = reshape(before, {batch, 1, 1, 1});
  const Value from = clamp(where(lt(slot, start), slot, slot - start + kept), 0, all.dim(2) - 1);
  const Value gathered = gather(all, 2, expand(from, {batch, now.dim(1), capacity, now.dim(3)}));
  return where(lt(slot, start + now.dim(2)), gathered, zeros({1}, now.device(), now.dtype()));
}

// The inputs of the attention.
struct AttentionInputs {
  Value k, v, seen, bias;
};

// A score of each head, sinks [heads], that takes part in the softmax and adds nothing: that of a key of zeros whose
// bias it is.
AttentionInputs with_sinks(const Call& c, const AttentionInputs& of, const Value& sinks, std::int64_t heads) {
  c.check(sinks.rank() == 1 && sinks.numel() == heads, "head_sink is ", sinks.shape(), " for ", heads, " heads");
  const auto behind = [](const Value& all, const Value& one, int dim) {
    Shape shape = all.shape();
    shape[dim] = 1;
    return cat(Values{all, expand(one, shape)}, dim);
  };
  const Value nothing = zeros({1, 1, 1, 1}, c.device(), of.k.dtype());
  Shape scores = of.seen.shape();
  scores[1] = heads;
  const Value bias =
      of.bias.empty() ? expand(nothing, scores) : expand(of.bias, broadcast("head_sink", of.bias.shape(), scores));
  return {behind(of.k, nothing, 2), behind(of.v, nothing, 2),
          behind(of.seen, ones({1, 1, 1, 1}, c.device(), DType::Bool), 3),
          behind(bias, reshape(of_type(sinks, of.k.dtype()), {1, heads, 1, 1}), 3)};
}

Results grouped_attention(Call& c) {
  const std::int64_t heads = c.i("num_heads", 0), shared = c.i("kv_num_heads", 0);
  c.check(heads > 0 && heads <= 1 << 20 && shared > 0 && heads % shared == 0, heads, " heads of queries and ", shared,
          " of keys");
  Value q = c[0], k = c.get(1), v = c.get(2);
  c.check(q.rank() == 3 && k.empty() == v.empty(), "the queries are ", q.shape());
  if (k.empty()) {  // queries, keys and values side by side
    const std::int64_t width = q.dim(2) / (heads + 2 * shared);
    c.check(q.dim(2) == width * (heads + 2 * shared), q.shape(), " does not hold ", heads, " heads and twice ", shared);
    k = narrow(q, 2, heads * width, shared * width);
    v = narrow(q, 2, (heads + shared) * width, shared * width);
    q = narrow(q, 2, 0, heads * width);
  }
  q = heads_apart(c, q, heads), k = heads_apart(c, k, shared), v = heads_apart(c, v, shared);
  const std::int64_t batch = q.dim(0), time = q.dim(2), total = c.integer(6);
  const Ints last = c.ints(5);  // the place of each sequence's last word
  c.check(static_cast<std::int64_t>(last.size()) == batch && total >= time && time > 0, last.size(), " lengths of ",
          batch, " sequences of ", time, " words of ", total);
  Ints before;  // nothing where all begin: then the shorter ones end early
  for (const std::int64_t place : last) {
    c.check(place >= 0 && place < total, "the last word stands at ", place, " of ", total);
    before.push_back(time == total ? 0 : place + 1 - time);
    c.check(before.back() >= 0, "the last word stands at ", place, " of ", total);
  }
  const Value past_k = c.get(3), past_v = c.get(4), start = from_ints(before, c.device());
  const std::int64_t past = past_k.empty() ? 0 : past_k.dim(2), capacity = std::max(past, total);
  c.check(*std::max_element(before.begin(), before.end()) <= past, "the past has ", past, " words");
  const Value places = c.has(9) ? of_type(c[9], DType::I64)
                                : reshape(arange(0, time, 1, c.device()), {1, time}) + reshape(start, {batch, 1});
  if (c.i("do_rotary", 0)) q = rotated(c, q, places), k = rotated(c, k, places);
  const Value all_k = continued(past_k, k, start, capacity), all_v = continued(past_v, v, start, capacity);
  const Value key = reshape(arange(0, capacity, 1, c.device()), {1, 1, 1, capacity});
  const Value query = reshape(arange(0, time, 1, c.device()), {1, 1, time, 1}) + reshape(start, {batch, 1, 1, 1});
  Value seen = le(key, query);
  if (const std::int64_t window = c.i("local_window_size", -1); window >= 0)
    seen = logical_and(seen, gt(key, query - window));
  const double scale = c.f("scale", 0);
  const AttentionOptions options{.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(q.dim(3))),
                                 .softcap = c.f("softcap", 0),
                                 .quiet = c.i("smooth_softmax", 0) > 0};
  AttentionInputs of{all_k, all_v, seen, c.has(10) ? of_type(c[10], q.dtype()) : Value()};
  if (c.has(11)) of = with_sinks(c, of, c[11], heads);
  return {heads_together(attention(q, of.k, of.v, options, of.seen, of.bias)), all_k, all_v};
}

std::string lacks(const Node& node) {
  for (const char* const name : {"k_quant_type", "v_quant_type"})
    if (string_attribute(node, name, "NONE") != "NONE") return name;
  return lacking(node, {"qk_output"}, {12, 13});
}

constexpr OperatorRow kGroupedAttentionRows[] = {
    {"GroupQueryAttention", 1, grouped_attention, {.lacks = lacks}},
};

}  // namespace

std::span<const OperatorRow> grouped_attention_rows() { return kGroupedAttentionRows; }

}  // namespace kiln::onnx
