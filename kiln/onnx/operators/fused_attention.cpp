// com.microsoft: attention with its projections, masks and past, and rotary embeddings.
#include <cmath>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/heads.hpp"
#include "kiln/onnx/operators/lacking.hpp"
#include "kiln/onnx/operators/standard.hpp"
#include "kiln/ops/sequence/attention.hpp"

namespace kiln::onnx {
namespace {

// The bias of scores: a large negative number where a key is masked. A mask [batch] is the number of keys of a sequence;
// masks [batch, keys] and [batch, queries, keys] are 0 where a key is masked.
Value mask_bias(const Call& c, const Value& mask, std::int64_t batch, std::int64_t keys, DType type) {
  Value seen;
  if (mask.rank() == 1 && mask.dim(0) == batch) {
    const Value places = reshape(arange(0, keys, 1, c.device()), {1, 1, 1, keys});
    seen = lt(places, reshape(of_type(mask, DType::I64), {batch, 1, 1, 1}));
  } else if (mask.rank() == 2 && mask.dim(1) == keys && mask.dim(0) == batch) {
    seen = reshape(ne(mask, 0), {batch, 1, 1, keys});
  } else {
    c.check(mask.rank() == 3 && mask.dim(0) == batch && mask.dim(2) == keys, "a mask of shape ", mask.shape(), " for ",
            batch, " times ", keys, " keys");
    seen = unsqueeze(ne(mask, 0), 1);
  }
  const Value nothing = zeros({1}, c.device(), type);
  return where(seen, nothing, c.f("mask_filter_value", -10000));
}

constexpr int kNone = 1 << 20;  // no input has this number
struct Masks {
  int mask, bias;  // inputs
};
Value attend(const Call& c, const Value& q, const Value& k, const Value& v, const Masks& inputs) {
  Value bias = c.has(inputs.bias) ? of_type(c[inputs.bias], q.dtype()) : Value();
  if (c.has(inputs.mask)) {
    const Value masked = mask_bias(c, c[inputs.mask], q.dim(0), k.dim(2), q.dtype());
    bias = bias.empty() ? masked : bias + masked;
  }
  const double scale = c.f("scale", 0);
  const AttentionOptions options{.causal = c.i("unidirectional", 0) != 0,
                                 .scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(q.dim(3)))};
  return heads_together(attention(q, k, v, options, {}, bias));
}

Value joined(const Value& past, const Value& now) { return past.empty() ? now : cat(Values{past, now}, 2); }

// x [batch, heads, time, width] rotated by its positions, the first of which is `first` (do_rotary): element i and that half of
// the rotated ones behind it by position / 10000^(2 i / width) (Su et al. 2021, arXiv:2104.09864).
Value rotated(const Call& c, const Value& x, std::int64_t first) {
  const std::int64_t given = c.i("rotary_embedding_dim", 0), width = given > 0 ? given : x.dim(3), time = x.dim(2);
  c.check(width <= x.dim(3) && width % 2 == 0, width, " of ", x.dim(3), " elements of a head are to be rotated");
  c.check_room(time, width * 4 * static_cast<std::int64_t>(sizeof(float)));
  std::vector<float> cosines, sines;
  for (std::int64_t place = first; place < first + time; ++place)
    for (std::int64_t i = 0; i < width / 2; ++i) {
      const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(width);
      const double angle = static_cast<double>(place) * std::pow(10000.0, -exponent);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  const auto table = [&](const std::vector<float>& numbers) {
    return Datum(from_data(TensorData::of<float>({1, time, width / 2}, numbers), c.device()));
  };
  return standard(c, "RotaryEmbedding", 23, {Datum(x), table(cosines), table(sines)}, {{"rotary_embedding_dim", width}})
      .value();
}

// The indices of the inputs.
struct InputIndices {
  int past;
  Masks masks;
};

// Attention of x [batch, time, features], projected by weights [features, queries, keys and values side by side].
Results projected_attention(const Call& c, const Value& x, const Value& weights, const InputIndices& at_input) {
  c.check(x.rank() == 3 && weights.rank() == 2 && weights.dim(0) == x.dim(2), "x ", x.shape(), " and weights ",
          weights.shape(), " do not fit");
  const std::int64_t heads = c.i("num_heads", 0), width = weights.dim(1);
  Ints sizes = c.ints("qkv_hidden_sizes");
  if (sizes.empty()) sizes = {width / 3, width / 3, width / 3};
  c.check(sizes.size() == 3 && sizes[0] > 0 && sizes[0] == sizes[1] && sizes[2] > 0 && sizes[2] <= width &&
              sizes[0] <= width && sizes[0] + sizes[1] + sizes[2] == width,
          "weights ", weights.shape(), " do not hold queries, keys and values of widths ", to_shape(sizes));
  Value all = matmul(x, weights);
  if (c.has(2)) all = all + c[2];
  const auto part = [&](std::int64_t from, std::int64_t size) {
    return heads_apart(c, narrow(all, 2, from, size), heads);
  };
  Value q = part(0, sizes[0]);
  Value k = part(sizes[0], sizes[1]), v = part(sizes[0] + sizes[1], sizes[2]);
  const Value past = c.get(at_input.past);
  c.check(past.empty() || (past.rank() == 5 && past.dim(0) == 2), "past is ", past.empty() ? Shape() : past.shape(),
          ", not [2, batch, heads, time, width]");
  if (c.i("do_rotary", 0)) {
    const std::int64_t first = past.empty() ? 0 : past.dim(3);
    q = rotated(c, q, first), k = rotated(c, k, first);
  }
  if (!past.empty()) { k = joined(at(past, 0, 0), k), v = joined(at(past, 0, 1), v); }
  const Value y = attend(c, q, k, v, at_input.masks);
  return {y, c.wants(1) ? Datum(stack(Values{k, v}, 0)) : Datum()};
}

Results attention_of(Call& c) { return projected_attention(c, c[0], c[1], {.past = 4, .masks = {3, 5}}); }

// Attention of quantised x and weights.
Results quantised_attention(Call& c) {
  const auto real = [&](int x, int scale, int zero) {
    const Value steps = cast(c[x], DType::F32);
    return (c.has(zero) ? steps - cast(c[zero], DType::F32) : steps) * c[scale];
  };
  return projected_attention(c, real(0, 3, 6), real(1, 4, 7), {.past = 8, .masks = {5, kNone}});
}

Results multi_head_attention(Call& c) {
  const std::int64_t heads = c.i("num_heads", 0);
  Value q = c[0], k = c.get(1), v = c.get(2);
  // Packed: [batch, time, heads, 3, width] holds all of them, [batch, time, heads, 2, width] keys and values.
  const auto part = [&](const Value& packed, std::int64_t parts, std::int64_t i) {
    c.check(packed.rank() == 5 && packed.dim(2) == heads && packed.dim(3) == parts, "a packed operand ", packed.shape(),
            " for ", heads, " heads");
    return reshape(at(packed, 3, i), {packed.dim(0), packed.dim(1), heads * packed.dim(4)});
  };
  if (k.empty()) k = part(q, 3, 1), v = part(q, 3, 2), q = part(q, 3, 0);
  else if (v.empty()) v = part(k, 2, 1), k = part(k, 2, 0);
  c.check(q.rank() == 3, "the queries are ", q.shape());
  if (c.has(3)) {  // the biases of all three, one behind the other
    const std::int64_t width = q.dim(2);
    c.check(c[3].rank() == 1 && k.rank() == 3 && v.rank() == 3 && c[3].dim(0) == width + k.dim(2) + v.dim(2),
            "a bias of shape ", c[3].shape(), " for ", q.shape(), ", ", k.shape(), " and ", v.shape());
    q = q + narrow(c[3], 0, 0, width);
    k = k + narrow(c[3], 0, width, k.dim(2));
    v = v + narrow(c[3], 0, width + k.dim(2), v.dim(2));
  }
  k = joined(c.get(6), heads_apart(c, k, heads));
  v = joined(c.get(7), heads_apart(c, v, heads));
  return {attend(c, heads_apart(c, q, heads), k, v, {4, 5}), k, v};
}

// RotaryEmbedding of ai.onnx with its inputs in another order; a single position is that of the first time step. The
// attribute `scale` changes nothing, as in ONNX Runtime.
Results rotary_embedding(Call& c) {
  const Value &x = c[0], &cosine = c[2];
  c.check((x.rank() == 3 || x.rank() == 4) && cosine.rank() == 2, "x ", x.shape(), " and a table ", cosine.shape());
  const std::int64_t batch = x.dim(0), time = x.dim(x.rank() - 2);
  Value places = of_type(c[1], DType::I64);
  if (places.numel() == 1) places = reshape(places, {1, 1}) + reshape(arange(0, time, 1, c.device()), {1, time});
  places = expand(places, {batch, time});
  std::int64_t heads = c.i("num_heads", 0);
  if (heads == 0 && x.rank() == 3) {
    c.check(cosine.dim(1) > 0, "a table ", cosine.shape());
    heads = x.dim(2) / (2 * cosine.dim(1));
  }
  return standard(c, "RotaryEmbedding", 23, {c.datum(0), c.datum(2), c.datum(3), Datum(places)},
                  {{"num_heads", heads}});
}

constexpr OperatorRow kFusedAttentionRows[] = {
    {"Attention",
     1,
     attention_of,
     {.lacks = [](const Node& node) { return lacking(node, {"past_present_share_buffer"}, {6}); }}},
    {"MultiHeadAttention",
     1,
     multi_head_attention,
     {.lacks = [](const Node& node) { return lacking(node, {}, {8, 9}); }}},
    {"QAttention",
     1,
     quantised_attention,
     {.lacks = [](const Node& node) { return lacking(node, {"past_present_share_buffer"}); }}},
    {"RotaryEmbedding",
     1,
     rotary_embedding,
     {.lacks = [](const Node& node) { return lacking(node, {"is_packed_batching"}); }}},
};

}  // namespace

std::span<const OperatorRow> fused_attention_rows() { return kFusedAttentionRows; }

}  // namespace kiln::onnx
