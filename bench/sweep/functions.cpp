#include "bench/sweep/functions.hpp"

#include "kiln/ops/create/create.hpp"
#include "kiln/ops/create/random.hpp"
#include "kiln/ops/elementwise/activation.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/elementwise/rows.hpp"
#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/product/products.hpp"
#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/histogram.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/reduce/unique.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/sequence/recurrent.hpp"
#include "kiln/ops/signal/signal.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/spatial/resample.hpp"
#include "kiln/ops/spatial/sample.hpp"
#include "kiln/ops/special/special.hpp"
#include "kiln/ops/view/assemble.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/view/view.hpp"

namespace bench {
namespace {

using Table = std::map<std::string, Function>;

/// Written out in its order.
Value contiguous(const Value& x) { return reshape(x, {x.numel()}); }
Values both(const ValueWithIndices& found) { return {found.values, found.indices}; }

void add_elementwise(Table& table) {
#define KILN_UNARY(Name, function, ...) table[#function] = [](const Values& x) { return Values{function(x[0])}; };
#define KILN_PREDICATE KILN_UNARY
#define KILN_BINARY(Name, function, ...) \
  table[#function] = [](const Values& x) { return Values{function(x[0], x[1])}; };
#define KILN_COMPARISON KILN_BINARY
#include "kiln/ops/elementwise/elementwise.def"
#define KILN_SPECIAL_OF_1(Name, function, ...) \
  table[#function] = [](const Values& x) { return Values{function(x[0])}; };
#define KILN_SPECIAL_OF_2(Name, function, ...) \
  table[#function] = [](const Values& x) { return Values{function(x[0], x[1])}; };
#define KILN_SPECIAL_OF_3(...)
#include "kiln/ops/special/special.def"
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16,
                            DType::I8, DType::U8, DType::Bool})
    table["to_" + std::string(name(dtype))] = [dtype](const Values& x) { return Values{cast(x[0], dtype)}; };
  for (const double exponent : {-1.0, 0.5, 2.0, 3.0, 2.5})
    table["pow_" + std::to_string(exponent).substr(0, exponent < 0 ? 4 : 3)] = [exponent](const Values& x) {
      return Values{pow(x[0], exponent)};
    };
  table["clamp"] = [](const Values& x) { return Values{clamp(x[0], 0, 1)}; };
  table["where"] = [](const Values& x) { return Values{where(x[0], x[1], x[2])}; };
  table["lerp"] = [](const Values& x) { return Values{lerp(x[0], x[1], x[2])}; };
  table["addcmul"] = [](const Values& x) { return Values{addcmul(x[0], x[1], x[2])}; };
  table["mul_2"] = [](const Values& x) { return Values{x[0] * 2}; };
  table["glu"] = [](const Values& x) { return Values{glu(x[0])}; };
  table["gelu_bias_residual"] = [](const Values& x) { return Values{gelu(x[0] + x[1]) + x[0]}; };
}

/// Over all elements, rows, columns, the outer or the middle one of three dimensions.
void add_reductions(Table& table) {
  const std::pair<const char*, Dims> places[] = {{"_all", {}},       {"_last", {-1}},  {"_first", {0}},
                                                 {"_outer", {0, 2}}, {"_middle", {1}}, {"_image", {-2, -1}}};
  for (const auto& [place, given] : places) {
    const auto add = [&table, place = place, given = given](const char* name, auto f) {
      table[name + std::string(place)] = [given, f](const Values& x) {
        Dims dims = given;
        if (dims.empty())
          for (int i = 0; i < x[0].rank(); ++i) dims.push_back(i);
        return Values{f(x[0], dims)};
      };
    };
    add("sum", [](const Value& x, const Dims& dims) { return sum(x, dims); });
    add("mean", [](const Value& x, const Dims& dims) { return mean(x, dims); });
    add("max", [](const Value& x, const Dims& dims) { return max(x, dims); });
    add("var", [](const Value& x, const Dims& dims) { return variance(x, dims); });
    add("norm", [](const Value& x, const Dims& dims) { return sqrt(sum(square(x), dims)); });
    add("logsumexp", [](const Value& x, const Dims& dims) { return logsumexp(x, dims); });
    add("any", [](const Value& x, const Dims& dims) { return any(x, dims); });
    add("count_nonzero", [](const Value& x, const Dims& dims) { return count_nonzero(x, dims); });
    add("nansum", [](const Value& x, const Dims& dims) { return nansum(x, dims); });
  }
  for (const auto& [place, dim] : {std::pair{"_last", -1}, {"_first", 0}}) {
    const auto add = [&table, place = place, dim = dim](const char* name, auto f) {
      table[name + std::string(place)] = [dim, f](const Values& x) { return Values{f(x[0], Dim(dim))}; };
    };
    const auto add_both = [&table, place = place, dim = dim](const char* name, auto f) {
      table[name + std::string(place)] = [dim, f](const Values& x) { return both(f(x[0], Dim(dim))); };
    };
    add("prod", [](const Value& x, Dim d) { return prod(x, Dims{d}); });
    add("argmax", [](const Value& x, Dim d) { return argmax(x, d); });
    add("softmax", [](const Value& x, Dim d) { return softmax(x, d); });
    add("log_softmax", [](const Value& x, Dim d) { return log_softmax(x, d); });
    add("cumsum", [](const Value& x, Dim d) { return cumsum(x, d); });
    add("cumprod", [](const Value& x, Dim d) { return cumprod(x, d); });
    add("logcumsumexp", [](const Value& x, Dim d) { return logcumsumexp(x, d); });
    add("diff", [](const Value& x, Dim d) { return diff(x, 1, d); });
    add("flip", [](const Value& x, Dim d) { return flip(x, Dims{d}); });
    add("roll", [](const Value& x, Dim d) { return roll(x, 3, d); });
    add("quantile", [](const Value& x, Dim d) { return quantile(x, 0.3, d); });
    add_both("cummax", [](const Value& x, Dim d) { return cummax(x, d); });
    add_both("sort", [](const Value& x, Dim d) { return sort(x, d); });
    add_both("topk_5", [](const Value& x, Dim d) { return topk(x, 5, d); });
    add_both("median", [](const Value& x, Dim d) { return median(x, d); });
    add_both("mode", [](const Value& x, Dim d) { return mode(x, d); });
    add_both("max_with_index", [](const Value& x, Dim d) { return max_with_index(x, d); });
  }
  table["unique"] = [](const Values& x) { return Values{unique(x[0]).values}; };
  table["unique_consecutive"] = [](const Values& x) { return Values{unique_consecutive(x[0]).values}; };
  table["bincount"] = [](const Values& x) { return Values{bincount(x[0])}; };
  table["histc"] = [](const Values& x) { return Values{histc(x[0], 100)}; };
  table["searchsorted"] = [](const Values& x) { return Values{searchsorted(x[0], x[1])}; };
  table["isin"] = [](const Values& x) { return Values{isin(x[0], x[1])}; };
  table["cov"] = [](const Values& x) { return Values{cov(x[0])}; };
  table["trapezoid"] = [](const Values& x) { return Values{trapezoid(x[0])}; };
}

void add_arrangements(Table& table) {
  table["copy"] = [](const Values& x) { return Values{x[0] + 0}; };
  table["transpose"] = [](const Values& x) { return Values{contiguous(transpose(x[0]))}; };
  table["permute_021"] = [](const Values& x) { return Values{contiguous(permute(x[0], {0, 2, 1}))}; };
  table["permute_0213"] = [](const Values& x) { return Values{contiguous(permute(x[0], {0, 2, 1, 3}))}; };
  table["permute_0231"] = [](const Values& x) { return Values{contiguous(permute(x[0], {0, 2, 3, 1}))}; };
  table["permute_0312"] = [](const Values& x) { return Values{contiguous(permute(x[0], {0, 3, 1, 2}))}; };
  table["every_second"] = [](const Values& x) {
    return Values{contiguous(slice(x[0], std::vector<Range>{{}, {.from = {}, .to = {}, .step = 2}}))};
  };
  table["cat_first"] = [](const Values& x) { return Values{cat(x, 0)}; };
  table["cat_last"] = [](const Values& x) { return Values{cat(x, -1)}; };
  table["stack_last"] = [](const Values& x) { return Values{stack(x, -1)}; };
  table["stack_first"] = [](const Values& x) { return Values{stack(x, 0)}; };
  table["pad_2"] = [](const Values& x) {
    Dims by = Dims::filled(x[0].rank(), 0);
    by[by.size() - 1] = by[by.size() - 2] = 2;
    return Values{pad(x[0], by, by)};
  };
  table["repeat_2_3"] = [](const Values& x) { return Values{repeat(x[0], {2, 3})}; };
  table["repeat_interleave"] = [](const Values& x) { return Values{repeat_interleave(x[0], 3, -1)}; };
  table["rot90"] = [](const Values& x) { return Values{rot90(x[0])}; };
  table["tril"] = [](const Values& x) { return Values{tril(x[0])}; };
  table["triu"] = [](const Values& x) { return Values{triu(x[0])}; };
  table["diag"] = [](const Values& x) { return Values{diag(x[0])}; };
  table["diag_embed"] = [](const Values& x) { return Values{diag_embed(x[0])}; };
  table["chunk_3"] = [](const Values& x) { return chunk(x[0], 3, -1); };
  table["gather_last"] = [](const Values& x) { return Values{gather(x[0], -1, x[1])}; };
  table["gather_first"] = [](const Values& x) { return Values{gather(x[0], 0, x[1])}; };
  table["select_rows"] = [](const Values& x) { return Values{select(x[0], 0, x[1])}; };
  table["select_columns"] = [](const Values& x) { return Values{select(x[0], 1, x[1])}; };
  table["scatter_add_first"] = [](const Values& x) { return Values{scatter_add(x[0], 0, x[1], x[2])}; };
  table["scatter_add_last"] = [](const Values& x) { return Values{scatter_add(x[0], -1, x[1], x[2])}; };
  table["index_add"] = [](const Values& x) { return Values{select_add(x[0], 0, x[1], x[2])}; };
  table["mask_fill"] = [](const Values& x) { return Values{mask_fill(x[0], x[1], 0.0)}; };
  table["mask_select"] = [](const Values& x) { return Values{mask_select(x[0], x[1])}; };
  table["nonzero"] = [](const Values& x) { return nonzero(x[0]); };
  table["one_hot_100"] = [](const Values& x) { return Values{one_hot(x[0], 100)}; };
  table["embedding"] = [](const Values& x) { return Values{embedding(x[0], x[1])}; };
  table["embedding_bag"] = [](const Values& x) { return Values{embedding_bag(x[0], x[1])}; };
  table["outer"] = [](const Values& x) { return Values{outer(x[0], x[1])}; };
  table["kron"] = [](const Values& x) { return Values{kron(x[0], x[1])}; };
  table["cartesian_prod"] = [](const Values& x) { return Values{cartesian_prod(x)}; };
}

void add_creations(Table& table) {
  const auto made = [&table](const char* name, auto f) {
    table[name] = [f](const Values& x) { return Values{f(x[0].shape(), x[0].dtype(), x[0].device())}; };
  };
  made("zeros", [](const Shape& shape, DType dtype, const Device& device) { return zeros(shape, device, dtype); });
  made("full", [](const Shape& shape, DType dtype, const Device& device) { return full(shape, 3, device, dtype); });
  made("arange",
       [](const Shape& shape, DType dtype, const Device& device) { return arange(0, shape[0], 1, device, dtype); });
  made("linspace",
       [](const Shape& shape, DType dtype, const Device& device) { return linspace(0, 1, shape[0], device, dtype); });
  made("eye", [](const Shape& shape, DType dtype, const Device& device) { return eye(shape, device, dtype); });
  made("uniform",
       [](const Shape& shape, DType dtype, const Device& device) { return uniform(shape, 0, 1, device, dtype); });
  made("normal",
       [](const Shape& shape, DType dtype, const Device& device) { return normal(shape, 0, 1, device, dtype); });
  made("bernoulli",
       [](const Shape& shape, DType dtype, const Device& device) { return bernoulli(shape, 0.3, device, dtype); });
  made("exponential",
       [](const Shape& shape, DType dtype, const Device& device) { return exponential(shape, 1, device, dtype); });
  made("randperm", [](const Shape& shape, DType, const Device& device) { return randperm(shape[0], device); });
  table["dropout"] = [](const Values& x) { return Values{dropout(x[0], 0.1)}; };
  table["multinomial"] = [](const Values& x) { return Values{multinomial(x[0], 5, true)}; };
}

void add_products(Table& table) {
  table["matmul"] = [](const Values& x) { return Values{matmul(x[0], x[1])}; };
  table["linear"] = [](const Values& x) { return Values{linear(x[0], x[1], x[2])}; };
  table["einsum_bhqd"] = [](const Values& x) { return Values{einsum("bqhd,bkhd->bhqk", x)}; };
  table["attention"] = [](const Values& x) { return Values{attention(x[0], x[1], x[2])}; };
  table["attention_causal"] = [](const Values& x) { return Values{attention(x[0], x[1], x[2], {.causal = true})}; };
  table["cdist"] = [](const Values& x) { return Values{cdist(x[0], x[1])}; };
  table["pairwise_distance"] = [](const Values& x) { return Values{pairwise_distance(x[0], x[1])}; };
  table["cosine_similarity"] = [](const Values& x) { return Values{cosine_similarity(x[0], x[1])}; };
  table["cross"] = [](const Values& x) { return Values{cross(x[0], x[1])}; };
  const auto conv_of = [&table](const char* name, ConvOptions options) {
    table[name] = [options](const Values& x) {
      ConvOptions own = options;
      if (own.groups < 0) own.groups = x[0].dim(1);
      return Values{conv(x[0], x[1], {}, own)};
    };
  };
  conv_of("conv1d", {.padding = {1}});
  conv_of("conv1d_depthwise", {.padding = {1}, .groups = -1});
  conv_of("conv2d", {.padding = {1, 1}});
  conv_of("conv2d_1x1", {});
  conv_of("conv2d_stride_2", {.stride = {2, 2}, .padding = {1, 1}});
  conv_of("conv2d_dilated", {.padding = {2, 2}, .dilation = {2, 2}});
  conv_of("conv2d_groups_4", {.padding = {1, 1}, .groups = 4});
  conv_of("conv2d_depthwise", {.padding = {1, 1}, .groups = -1});
  conv_of("conv2d_depthwise_stride_2", {.stride = {2, 2}, .padding = {1, 1}, .groups = -1});
  conv_of("conv3d", {.padding = {1, 1, 1}});
  conv_of("conv3d_depthwise", {.padding = {1, 1, 1}, .groups = -1});
  table["conv_transpose2d"] = [](const Values& x) {
    return Values{conv_transpose(x[0], x[1], {}, {.stride = {2, 2}, .padding = {1, 1}})};
  };
  table["lstm"] = [](const Values& x) {
    return Values{lstm(x[0], {.input = x[1], .hidden = x[2], .input_bias = {}, .hidden_bias = {}}).outputs};
  };
  table["gru"] = [](const Values& x) {
    return Values{
        gru(x[0], {.input = x[1], .hidden = x[2], .input_bias = {}, .hidden_bias = {}}, {.reset_after = true}).outputs};
  };
}

void add_layers(Table& table) {
  table["layer_norm"] = [](const Values& x) { return Values{layer_norm(x[0], x[1], x[2])}; };
  table["rms_norm"] = [](const Values& x) { return Values{rms_norm(x[0], x[1])}; };
  table["group_norm_8"] = [](const Values& x) { return Values{group_norm(x[0], 8, x[1], x[2])}; };
  table["instance_norm"] = [](const Values& x) { return Values{instance_norm(x[0], x[1], x[2])}; };
  table["batch_norm"] = [](const Values& x) { return Values{batch_norm_training(x[0], {}, {}, x[1], x[2]).output}; };
  table["batch_norm_running"] = [](const Values& x) { return Values{batch_norm(x[0], x[1], x[2], x[3], x[4])}; };
  table["local_response_norm"] = [](const Values& x) { return Values{local_response_norm(x[0])}; };
  table["max_pool1d"] = [](const Values& x) {
    return Values{max_pool(x[0], {.kernel = {3}, .stride = {2}, .padding = {1}})};
  };
  table["max_pool2d"] = [](const Values& x) {
    return Values{max_pool(x[0], {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}})};
  };
  table["max_pool3d"] = [](const Values& x) { return Values{max_pool(x[0], {.kernel = {2, 2, 2}})}; };
  table["avg_pool1d"] = [](const Values& x) {
    return Values{avg_pool(x[0], {.kernel = {3}, .stride = {2}, .padding = {1}})};
  };
  table["avg_pool2d"] = [](const Values& x) {
    return Values{avg_pool(x[0], {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}})};
  };
  table["adaptive_avg_pool2d"] = [](const Values& x) { return Values{adaptive_avg_pool(x[0], {7, 7})}; };
  table["unfold"] = [](const Values& x) { return Values{unfold(x[0], {.kernel = {3, 3}, .padding = {1, 1}})}; };
  table["pixel_shuffle"] = [](const Values& x) { return Values{pixel_shuffle(x[0], 2)}; };
  const auto resized = [&table](const char* name, Interpolation mode) {
    table[name] = [mode](const Values& x) { return Values{interpolate(x[0], {.scale = {2, 2}, .mode = mode})}; };
  };
  resized("interpolate_nearest", Interpolation::Nearest);
  resized("interpolate_linear", Interpolation::Linear);
  resized("interpolate_cubic", Interpolation::Cubic);
  table["grid_sample"] = [](const Values& x) { return Values{grid_sample(x[0], x[1])}; };
  table["cross_entropy"] = [](const Values& x) { return Values{cross_entropy(x[0], x[1])}; };
  table["nll_loss"] = [](const Values& x) { return Values{nll_loss(x[0], x[1])}; };
  table["mse_loss"] = [](const Values& x) { return Values{mse_loss(x[0], x[1])}; };
  table["l1_loss"] = [](const Values& x) { return Values{l1_loss(x[0], x[1])}; };
  table["smooth_l1_loss"] = [](const Values& x) { return Values{smooth_l1_loss(x[0], x[1])}; };
  table["bce_with_logits"] = [](const Values& x) { return Values{binary_cross_entropy_with_logits(x[0], x[1])}; };
  table["kl_div"] = [](const Values& x) { return Values{kl_div(x[0], x[1])}; };
}

void add_algebra(Table& table) {
  table["inverse"] = [](const Values& x) { return Values{inverse(x[0])}; };
  table["solve"] = [](const Values& x) { return Values{solve(x[0], x[1])}; };
  table["det"] = [](const Values& x) { return Values{det(x[0])}; };
  table["cholesky"] = [](const Values& x) { return Values{cholesky(x[0])}; };
  table["qr"] = [](const Values& x) { return Values{qr(x[0]).q}; };
  table["svdvals"] = [](const Values& x) { return Values{svdvals(x[0])}; };
  table["eigh"] = [](const Values& x) { return Values{eigh(x[0]).v}; };
  table["matrix_exp"] = [](const Values& x) { return Values{matrix_exp(x[0])}; };
  table["triangular_solve"] = [](const Values& x) { return Values{triangular_solve(x[0], x[1])}; };
  table["fft"] = [](const Values& x) { return Values{fft(x[0])}; };
  table["rfft"] = [](const Values& x) { return Values{rfft(x[0])}; };
  table["irfft"] = [](const Values& x) { return Values{irfft(x[0])}; };
}

}  // namespace

const std::map<std::string, Function>& functions() {
  static const Table all = [] {
    Table table;
    for (const auto add :
         {add_elementwise, add_reductions, add_arrangements, add_creations, add_products, add_layers, add_algebra})
      add(table);
    return table;
  }();
  return all;
}

}  // namespace bench
