// com.microsoft: attention with its projections, masks and past, and rotary embeddings.
#include <cmath>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/heads.hpp"
#include "kiln/onnx/operators/standard.hpp"
#include "kiln/ops/sequence/attention.hpp"

namespace kiln::onnx {
namespace {

// What is added to scores: a large negative number where a key is masked. [batch]: so many keys are there; [batch, keys]
// and [batch, queries, keys]: those that are not 0.
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

Results attention_of(Call& c) {
  const Value &x = c[0], &weights = c[1];
  c.check(x.rank() == 3 && weights.rank() == 2 && weights.dim(0) == x.dim(2), "x ", x.shape(), " and weights ",
          weights.shape(), " do not fit");
  c.check(c.i("do_rotary", 0) == 0 && c.i("past_present_share_buffer", 0) == 0 && !c.has(6),
          "rotary embeddings and shared memory of the past are not there");
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
  const Value q = part(0, sizes[0]);
  Value k = part(sizes[0], sizes[1]), v = part(sizes[0] + sizes[1], sizes[2]);
  if (c.has(4)) {
    c.check(c[4].rank() == 5 && c[4].dim(0) == 2, "past is ", c[4].shape(), ", not [2, batch, heads, time, width]");
    k = joined(at(c[4], 0, 0), k), v = joined(at(c[4], 0, 1), v);
  }
  const Value y = attend(c, q, k, v, {3, 5});
  return {y, c.wants(1) ? Datum(stack(Values{k, v}, 0)) : Datum()};
}

Results multi_head_attention(Call& c) {
  const std::int64_t heads = c.i("num_heads", 0);
  c.check(c.has(1) && c.has(2) && c[0].rank() == 3, "queries, keys and values packed into one tensor are not there");
  c.check(!c.has(8) && !c.has(9), "lengths of the past and indirections are not there");
  Value q = c[0], k = c[1], v = c[2];
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

// As ai.onnx's, with the tables' inputs in another order; one place is that of the first moment.
Results rotary_embedding(Call& c) {
  const Value &x = c[0], &cosine = c[2];
  c.check((x.rank() == 3 || x.rank() == 4) && cosine.rank() == 2, "x ", x.shape(), " and a table ", cosine.shape());
  c.check(c.f("scale", 1) == 1 && c.i("is_packed_batching", 0) == 0, "a scale and packed batches are not there");
  const std::int64_t batch = x.dim(0), time = x.dim(x.rank() - 2);
  Value places = of_type(c[1], DType::I64);
  if (places.numel() == 1) places = reshape(places, {1, 1}) + reshape(arange(0, time, 1, c.device()), {1, time});
  places = expand(places, {batch, time});
  std::int64_t heads = c.i("num_heads", 0);
  if (heads == 0 && x.rank() == 3) {
    c.check(cosine.dim(1) > 0, "a table ", cosine.shape());
    heads = x.dim(2) / (2 * cosine.dim(1));
  }
  Attribute count;
  count.type = AttributeProto::Type::Int;
  count.i = heads;
  return standard(c, "RotaryEmbedding", 23, {c.datum(0), c.datum(2), c.datum(3), Datum(places)},
                  {{"num_heads", count}});
}

constexpr Row kRows[] = {
    {"Attention", 1, attention_of},
    {"MultiHeadAttention", 1, multi_head_attention},
    {"RotaryEmbedding", 1, rotary_embedding},
};

}  // namespace

std::span<const Row> fused_attention_rows() { return kRows; }

}  // namespace kiln::onnx
