// What a mask, a length, an ignored index or a padding hides counts for nothing: with NaN, infinities or huge numbers in
// hidden places results and gradients, of either order, are the same bits as with zeros there, on every device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/loss/ctc_transducer.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/reduce/masked.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/sequence/recurrent.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "tests/ops/passes.hpp"
#include "tests/support/backends/devices.hpp"

namespace kiln::test {
namespace {

using Place = std::vector<std::int64_t>;

/// A float operand and its hidden places.
struct Veiled {
  Shape shape;
  std::function<bool(const Place&)> hidden = [](const Place&) { return false; };
};

struct Hiding {
  std::string name;
  std::vector<Veiled> operands;
  /// Of the operands, and the device for what else is needed.
  std::function<Values(const Values&)> function;
  std::string passes = "fbd";
};

template <class F>
void each_place(const Shape& shape, F&& f) {
  Place place(static_cast<std::size_t>(shape.size()), 0);
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    f(place, static_cast<std::size_t>(i));
    for (int dim = shape.size() - 1; dim >= 0; --dim) {
      if (++place[static_cast<std::size_t>(dim)] < shape[dim]) break;
      place[static_cast<std::size_t>(dim)] = 0;
    }
  }
}

Values operands_with(const Hiding& each, double hidden, DType dtype, const Device& device) {
  Values values;
  double seed = 0;
  for (const Veiled& operand : each.operands) {
    std::vector<double> numbers(static_cast<std::size_t>(numel(operand.shape)));
    each_place(operand.shape, [&](const Place& place, std::size_t i) {
      numbers[i] = operand.hidden(place) ? hidden : std::sin(static_cast<double>(i) * 1.7 + ++seed);
    });
    const TensorData data = TensorData::of<double>(operand.shape, numbers).to(dtype);
    values.push_back(from_data(data, device).require_grad());
  }
  return values;
}

Value flags(const Shape& shape, const std::function<bool(const Place&)>& shown, const Device& device) {
  std::vector<double> numbers(static_cast<std::size_t>(numel(shape)));
  each_place(shape, [&](const Place& place, std::size_t i) { numbers[i] = shown(place); });
  return from_data(TensorData::of<double>(shape, numbers).to(DType::Bool), device);
}
Value whole(const Shape& shape, const std::vector<std::int64_t>& numbers, const Device& device) {
  return from_data(TensorData::of<std::int64_t>(shape, numbers), device);
}

double largest(DType dtype) { return dtype == DType::F64 ? 8e307 : dtype == DType::F16 ? 30000 : 1e38; }

/// A mask of x [3, 5] that shows columns 1 and 3, and 4 of row 0.
bool shown(const Place& at) { return at[1] == 1 || at[1] == 3 || (at[0] == 0 && at[1] == 4); }
const Veiled kRows{{3, 5}, [](const Place& at) { return !shown(at); }};

Hiding masked(std::string name, std::function<Value(const Value& x, const Value& mask)> function) {
  return {std::move(name), {kRows}, [function](const Values& in) {
            return Values{function(in[0], flags({3, 5}, shown, in[0].device().inner()))};
          }};
}

/// q [2, 2, 3, 4], k and v [2, 1, 5, 4] of which keys 2 and 4 are hidden in both, by `mask`.
Hiding attended(std::string name, std::function<Value(const Values& in, const Value& seen)> function) {
  const auto hidden = [](const Place& at) { return at[2] == 2 || at[2] == 4; };
  return {
      std::move(name), {{{2, 2, 3, 4}}, {{2, 1, 5, 4}, hidden}, {{2, 1, 5, 4}, hidden}}, [function](const Values& in) {
        const auto sees = [](const Place& at) { return at[0] != 2 && at[0] != 4; };
        return Values{function(in, flags({5}, sees, in[0].device().inner()))};
      }};
}

/// x [2, 4, 3] whose rows have 3 moments and 1.
const Veiled kMoments{{2, 4, 3}, [](const Place& at) { return at[1] >= (at[0] == 0 ? 3 : 1); }};
Value lengths(const Device& device) { return whole({2}, {3, 1}, device); }

Hiding recurrent(std::string name, std::int64_t gates,
                 RecurrentPass (*layer)(const Value&, const RecurrentWeights&, const RecurrentOptions&,
                                        const RecurrentState&, const Value&)) {
  return {std::move(name), {kMoments, {{gates * 2, 3}}, {{gates * 2, 2}}}, [layer](const Values& in) {
            const RecurrentPass pass =
                layer(in[0], RecurrentWeights{in[1], in[2], {}, {}, {}}, {}, {}, lengths(in[0].device().inner()));
            return Values{pass.outputs, pass.state.hidden};
          }};
}

std::vector<Hiding> hiding() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<Hiding> all{
      // ---- where and what is made of it
      {"where",
       {kRows, {{3, 5}, [](const Place& at) { return shown(at); }}},
       [](const Values& in) { return Values{where(flags({3, 5}, shown, in[0].device().inner()), in[0], in[1])}; }},
      masked("where_of_a_function", [](const Value& x, const Value& m) { return exp(where(m, x, 0.5)); }),
      masked("mask_fill", [](const Value& x, const Value& m) { return mask_fill(x, logical_not(m), 0.25); }),
      masked("mask_select", [](const Value& x, const Value& m) { return square(mask_select(x, m)); }),
      masked("mask_where",
             [](const Value& x, const Value& m) {
               return mask_where(x, logical_not(m), full(x.shape(), 0.75, x.device().inner(), x.dtype()));
             }),
      masked("masked_sum", [](const Value& x, const Value& m) { return masked_sum(x, m, {1}); }),
      masked("masked_prod", [](const Value& x, const Value& m) { return masked_prod(x, m, {1}); }),
      masked("masked_mean", [](const Value& x, const Value& m) { return masked_mean(x, m, {1}); }),
      masked("masked_max", [](const Value& x, const Value& m) { return masked_max(x, m, {1}); }),
      masked("masked_min", [](const Value& x, const Value& m) { return masked_min(x, m, {1}); }),
      masked("masked_var", [](const Value& x, const Value& m) { return masked_var(x, m, {1}); }),
      masked("masked_std", [](const Value& x, const Value& m) { return masked_std(x, m, {1}); }),
      masked("masked_norm", [](const Value& x, const Value& m) { return masked_norm(x, m, 2, {1}); }),
      masked("masked_norm_3", [](const Value& x, const Value& m) { return masked_norm(x, m, 3, {1}); }),
      masked("masked_logsumexp", [](const Value& x, const Value& m) { return masked_logsumexp(x, m, {1}); }),
      masked("masked_median", [](const Value& x, const Value& m) { return masked_median(x, m, 1); }),
      masked("masked_softmax", [](const Value& x, const Value& m) { return masked_softmax(x, m, 1); }),
      masked("masked_softmin", [](const Value& x, const Value& m) { return masked_softmin(x, m, 1); }),
      masked("masked_log_softmax",
             [](const Value& x, const Value& m) { return where(m, masked_log_softmax(x, m, 1), 0.0); }),
      masked("masked_normalize", [](const Value& x, const Value& m) { return masked_normalize(x, m); }),
      masked("masked_cumsum", [](const Value& x, const Value& m) { return masked_cumsum(x, m, 1); }),
      masked("masked_cumprod", [](const Value& x, const Value& m) { return masked_cumprod(x, m, 1); }),
      // ---- attention
      attended("attention_mask",
               [](const Values& in, const Value& seen) { return attention(in[0], in[1], in[2], {}, seen); }),
      attended(
          "attention_mask_softcap",
          [](const Values& in, const Value& seen) { return attention(in[0], in[1], in[2], {.softcap = 2}, seen); }),
      attended("attention_mask_causal",
               [](const Values& in, const Value& seen) {
                 return attention(in[0], in[1], in[2], {.causal = true, .quiet = true}, seen);
               }),
      attended("attention_mask_window",
               [](const Values& in, const Value& seen) { return attention(in[0], in[1], in[2], {.window = 3}, seen); }),
      attended("attention_bias",
               [](const Values& in, const Value& seen) {
                 const Value bias = where(seen, zeros({5}, seen.device()), -kInf);
                 return attention(in[0], in[1], in[2], {}, {}, bias);
               }),
      attended("attention_dropout",
               [](const Values& in, const Value& seen) {
                 return attention(in[0], in[1], in[2], {.dropout = 0.4, .key = Key{5}}, seen);
               }),
      attended("attention_one_query",
               [](const Values& in, const Value& seen) {
                 return attention(narrow(in[0], 2, 2, 1), in[1], in[2], {}, seen);
               }),
      // ---- losses
      {"cross_entropy",
       {{{4, 3}, [](const Place& at) { return at[0] == 1; }}},
       [](const Values& in) {
         return Values{cross_entropy(in[0], whole({4}, {2, -1, 0, 1}, in[0].device().inner()),
                                     {.ignore = -1, .label_smoothing = 0.1})};
       }},
      {"cross_entropy_weights",
       {{{4, 3}, [](const Place& at) { return at[0] == 1; }}, {{3}}},
       [](const Values& in) {
         return Values{cross_entropy(in[0], whole({4}, {2, 9, 0, 1}, in[0].device().inner()),
                                     {.weights = in[1], .ignore = 9}, Reduction::None)};
       }},
      {"nll_loss",
       {{{4, 3}, [](const Place& at) { return at[0] == 1 || at[1] == 2; }}},
       [](const Values& in) {
         return Values{nll_loss(in[0], whole({4}, {1, -1, 0, 1}, in[0].device().inner()), {.ignore = -1})};
       }},
      {"ctc_loss",
       {{{4, 2, 3}, [](const Place& at) { return at[0] >= (at[1] == 0 ? 3 : 2); }}},
       [](const Values& in) {
         const Device device = in[0].device().inner();
         return Values{ctc_loss(in[0], whole({2, 2}, {1, 2, 1, 7}, device), whole({2}, {3, 2}, device),
                                whole({2}, {2, 1}, device), {}, Reduction::None)};
       }},
      {"rnnt_loss",
       {{{2, 3, 3, 3}, [](const Place& at) { return at[0] == 1 && (at[1] >= 2 || at[2] >= 2); }}},
       [](const Values& in) {
         const Device device = in[0].device().inner();
         return Values{rnnt_loss(in[0], whole({2, 2}, {1, 2, 1, 7}, device), whole({2}, {3, 2}, device),
                                 whole({2}, {2, 1}, device), {}, Reduction::None)};
       }},
      // ---- triangles
      {"triu",
       {{{3, 3}, [](const Place& at) { return at[1] < at[0]; }}},
       [](const Values& in) { return Values{square(triu(in[0]))}; }},
      {"tril",
       {{{3, 3}, [](const Place& at) { return at[1] > at[0]; }}},
       [](const Values& in) { return Values{exp(tril(in[0]))}; }},
      {"triangular_solve",
       {{{3, 3}, [](const Place& at) { return at[1] > at[0]; }}, {{3, 2}}},
       [](const Values& in) { return Values{triangular_solve(in[0], in[1])}; }},
      {"triangular_solve_unit",
       {{{3, 3}, [](const Place& at) { return at[1] <= at[0]; }}, {{3, 2}}},
       [](const Values& in) { return Values{triangular_solve(in[0], in[1], {.upper = true, .unit = true})}; }},
      // ---- tables
      {"embedding_bag_padding",
       {{{4, 3}, [](const Place& at) { return at[0] == 2; }}},
       [](const Values& in) {
         const Value bags = whole({2, 3}, {0, 2, 1, 2, 3, 3}, in[0].device().inner());
         return Values{embedding_bag(in[0], bags, {.mode = BagMode::Mean, .padding_index = 2}),
                       embedding_bag(in[0], bags, {.mode = BagMode::Max, .padding_index = 2})};
       }},
      {"embedding_bag_weights",
       {{{4, 3}, [](const Place& at) { return at[0] == 2; }},
        {{2, 3}, [](const Place& at) { return at == Place{0, 1} || at == Place{1, 0}; }}},
       [](const Values& in) {
         const Value bags = whole({2, 3}, {0, 2, 1, 2, 3, 3}, in[0].device().inner());
         return Values{embedding_bag(in[0], bags, {.mode = BagMode::Sum, .padding_index = 2}, in[1])};
       }},
      // ---- recurrent layers with lengths
      recurrent("rnn", 1, &rnn),
      recurrent("lstm", 4, &lstm),
      recurrent("gru", 3, &gru),
  };
  return all;
}

void expect_hidden(const Hiding& each, const std::string& name, const Device& device, DType dtype) {
  for (const char pass : each.passes) {
    const Bits right = run_pass(pass, each.function, operands_with(each, 0, dtype, device));
    for (const double number : {std::nan(""), std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(), largest(dtype)}) {
      const Bits found = run_pass(pass, each.function, operands_with(each, number, dtype, device));
      EXPECT_TRUE(same_bits(right, found))
          << text(each.name, ", pass ", pass, ", ", number, " hidden, ", name, " ", dtype);
    }
  }
}

TEST(Hidden, CountsForNothing) {
  for (const auto& [name, device] : devices_under_test())
    for (const Hiding& each : hiding())
      for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16})
        expect_hidden(each, name, device.autodiff(), dtype);
}

// The kernels of GPUs, wherever this runs.
TEST(Hidden, CountsForNothingInKernelsOfGpus) {
  const Device device = device_named("simulated").autodiff();
  for (const Hiding& each : hiding())
    if (each.name.starts_with("attention") || each.name == "lstm" || each.name.ends_with("loss"))
      expect_hidden(each, "simulated", device, DType::F32);
}

// ---- what some see and others do not -----------------------------------------------------------------------------------

struct Partial {
  std::string name;
  Shape q, k;
  AttentionOptions options = {};
  bool masked = false;      // query i does not see key i + 1
  std::int64_t group = 1;   // heads of q to one of k
  std::int64_t spoilt = 0;  // the key, or query, that holds what is no number
};

bool sees(const Partial& c, std::int64_t query, std::int64_t key) {
  const std::int64_t position = query + c.k[2] - c.q[2];
  if (c.options.causal && key > position) return false;
  if (c.options.window && std::abs(position - key) >= *c.options.window) return false;
  return !c.masked || key != query + 1;
}

/// The rows of [batch, heads, time, width] that `counts` names.
std::vector<double> rows_of(const TensorData& x, const std::function<bool(std::int64_t)>& counts) {
  std::vector<double> kept;
  const std::vector<double> all = x.to_vector<double>();
  each_place(x.shape(), [&](const Place& place, std::size_t i) {
    if (counts(place[2])) kept.push_back(all[i]);
  });
  return kept;
}

/// Output and the gradients of q, k and v.
std::vector<TensorData> attend(const Partial& c, const Device& device, DType dtype, int operand, double number) {
  Values in;
  for (int i = 0; i < 4; ++i) {  // q, k, v, and the gradient of the output
    const Shape& shape = i == 0 || i == 3 ? c.q : c.k;
    std::vector<double> numbers(static_cast<std::size_t>(numel(shape)));
    each_place(shape, [&](const Place& place, std::size_t at) {
      const bool spoilt = i == operand && place[2] == c.spoilt && place[3] == 1;
      numbers[at] = spoilt ? number : std::sin(static_cast<double>(at) * 1.3 + i);
    });
    in.push_back(from_data(TensorData::of<double>(shape, numbers).to(dtype), device));
    if (i < 3) in.back() = in.back().require_grad();
  }
  const Value mask =
      c.masked ? flags({c.q[2], c.k[2]}, [](const Place& at) { return at[1] != at[0] + 1; }, device.inner()) : Value();
  const Value out = attention(in[0], in[1], in[2], c.options, mask);
  const Values grads = grad(Values{out}, Values{in[3]}, Values{in[0], in[1], in[2]});
  return {out.data(), grads[0].data(), grads[1].data(), grads[2].data()};
}

const Partial kPartial[] = {
    {"causal", {1, 2, 6, 4}, {1, 2, 6, 4}, {.causal = true}, false, 1, 4},
    {"a window", {2, 2, 7, 4}, {2, 1, 7, 4}, {.window = 2}, false, 2, 5},
    {"a causal window and a softcap",
     {1, 1, 5, 4},
     {1, 1, 8, 4},
     {.causal = true, .softcap = 3, .window = 3},
     false,
     1,
     2},
    {"a mask", {1, 2, 4, 4}, {1, 2, 6, 4}, {}, true, 1, 3},
    {"many causal blocks", {1, 2, 210, 8}, {1, 1, 210, 8}, {.causal = true}, false, 2, 150},
    {"many windows", {1, 1, 210, 8}, {1, 1, 230, 8}, {.window = 20}, false, 1, 60},
};

// What a query does not see cannot change it, nor what it gives to keys; and where it gives nothing, it takes nothing.
TEST(Hidden, ReachesNoOneWhoDoesNotSeeIt) {
  std::vector<std::pair<std::string, Device>> devices = devices_under_test();
  devices.emplace_back("simulated", device_named("simulated"));
  devices.emplace_back("matrices", device_named("simulated:vulkan32"));  // which it has of halves
  for (const auto& [name, device] : devices)
    for (const Partial& c : kPartial)
      for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
        if (name == "simulated" && (dtype != DType::F32 || c.q[2] > 50)) continue;
        if (name == "matrices" && (dtype != DType::BF16 || c.q[2] > 50)) continue;
        for (int operand = 0; operand < 4; ++operand) {
          const auto plain = attend(c, device.autodiff(), dtype, operand, 0);
          // Queries that see what is spoilt, or are; keys that one of these sees, or that are it.
          std::set<std::int64_t> queries, keys;
          for (std::int64_t i = 0; i < c.q[2]; ++i)
            if (operand == 1 || operand == 2 ? sees(c, i, c.spoilt) : i == c.spoilt) queries.insert(i);
          for (std::int64_t j = 0; j < c.k[2]; ++j)
            for (const std::int64_t i : queries)
              if (sees(c, i, j)) keys.insert(j);
          if (operand == 1 || operand == 2) keys.insert(c.spoilt);
          ASSERT_LT(static_cast<std::int64_t>(queries.size()), c.q[2]);
          for (const double number : {std::nan(""), std::numeric_limits<double>::infinity(), largest(dtype)}) {
            const auto spoilt = attend(c, device.autodiff(), dtype, operand, number);
            for (std::size_t i = 0; i < plain.size(); ++i) {
              const auto counts = [&](std::int64_t row) { return !(i < 2 ? queries : keys).contains(row); };
              EXPECT_EQ(rows_of(plain[i], counts), rows_of(spoilt[i], counts))
                  << text(c.name, ", operand ", operand, " holds ", number, ", result ", i, ", ", name, " ", dtype);
            }
            // And who does see it, knows.
            if (operand == 2 && std::isnan(number)) {
              const auto counts = [&](std::int64_t row) { return queries.contains(row); };
              int found = 0;
              for (const double each : rows_of(spoilt[0], counts)) found += std::isnan(each);
              EXPECT_EQ(found, c.q[0] * c.q[1] * std::ssize(queries)) << text(c.name, ", ", name, " ", dtype);
            }
          }
        }
      }
}

}  // namespace
}  // namespace kiln::test
