// com.microsoft: weights of few bits, and functions of quantised tensors.
#include <algorithm>

#include "kiln/core/size.hpp"
#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/gate_products.hpp"
#include "kiln/onnx/operators/standard.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {
namespace {

// Numbers of 2, 4 or 8 bits in bytes, from the low bits on: [..., bytes] -> [..., bytes * 8 / bits], int32.
Value unpacked(const Value& bytes, std::int64_t bits) {
  const Value whole = cast(bytes, DType::I32);
  if (bits == 8) return whole;
  const std::int64_t radix = std::int64_t{1} << bits;
  Values parts;
  for (std::int64_t at = 0; at < 8; at += bits)
    parts.push_back(remainder(floor_divide(whole, std::int64_t{1} << at), radix));
  Shape shape = whole.shape();
  shape.back() *= 8 / bits;
  return reshape(stack(parts, -1), shape);
}

std::string odd_bits(const Node& node) {
  const std::int64_t bits = int_attribute(node, "bits", 4);
  return bits == 2 || bits == 4 || bits == 8 ? "" : text("bits = ", bits);
}

// a w^T, where blocks of w's rows have a scale and a zero point each.
Results matmul_n_bits(Call& c) {
  const Value &a = c[0], &packed = c[1];
  const std::int64_t in = c.i("K", 0), out = c.i("N", 0), bits = c.i("bits", 4), block = c.i("block_size", 32);
  c.check(in > 0 && out > 0 && block >= 16 && block <= (1 << 20) && in <= (std::int64_t{1} << 40), "K ", in, ", N ",
          out, " and block_size ", block);
  const std::int64_t blocks = (in + block - 1) / block;
  c.check(a.rank() >= 1 && a.dim(-1) == in, "A is ", a.shape(), ", whose rows do not have ", in, " elements");
  c.check(
      packed.dtype() == DType::U8 && packed.numel() == multiply_sizes("MatMulNBits", out, blocks * block * bits / 8),
      "B is ", c.datum(1), " for ", out, " rows of ", blocks, " blocks of ", block, " times ", bits, " bits");
  c.check(c[2].numel() == out * blocks, "there are ", c[2].numel(), " scales for ", out * blocks, " blocks");
  const Value codes = reshape(unpacked(reshape(packed, {out, blocks, block * bits / 8}), bits), {out, blocks, block});
  Value zero = full({1, 1, 1}, std::int64_t{1} << (bits - 1), c.device(), DType::F32);
  if (c.has(3)) {
    const bool whole = c[3].dtype() == DType::U8;
    const std::int64_t row = whole ? (blocks * bits + 7) / 8 : blocks;
    c.check(c[3].numel() == out * row, "there are ", c[3].numel(), " zero points for ", out * blocks, " blocks");
    const Value rows = reshape(c[3], {out, row});
    zero = unsqueeze(of_type(whole ? narrow(unpacked(rows, bits), 1, 0, blocks) : rows, DType::F32), 2);
  }
  const Value scale = reshape(of_type(c[2], DType::F32), {out, blocks, 1});
  Value weight;
  if (c.has(4)) {  // g_idx: which block's scale and zero point each column has
    c.check(c[4].rank() == 1 && c[4].numel() >= in, "g_idx is ", c[4].shape(), " for ", in, " columns");
    const Value group = of_type(narrow(c[4], 0, 0, in), DType::I64);
    const auto of_columns = [&](const Value& x) {
      return x.numel() == 1 ? reshape(x, {1, 1}) : select(reshape(x, {out, blocks}), 1, group);
    };
    const Value columns = narrow(reshape(codes, {out, blocks * block}), 1, 0, in);
    weight = (cast(columns, DType::F32) - of_columns(zero)) * of_columns(scale);
  } else {
    weight = narrow(reshape((cast(codes, DType::F32) - zero) * scale, {out, blocks * block}), 1, 0, in);
  }
  const Value product = matmul(a.rank() == 1 ? unsqueeze(a, 0) : a, transpose(of_type(weight, a.dtype())));
  const Value y = a.rank() == 1 ? squeeze(product, 0) : product;
  return c.has(5) ? y + c[5] : y;
}

// ---- products of integers ---------------------------------------------------------------------------------------
Value scaled(const Call& c, const Value& product, const Value& scale, int bias) {
  const Value y = of_type(product, DType::F32) * of_type(scale, DType::F32);
  return c.has(bias) ? y + c[bias] : y;
}
Value integer_product(const Call& c, const Datum& a, const Datum& b, const Datum& a_zero, const Datum& b_zero) {
  return standard(c, "MatMulInteger", 10, {a, b, a_zero, b_zero}).value();
}
Datum optional(const Call& c, int i) { return c.has(i) ? c.datum(i) : Datum(); }

Results dynamic_quantize_matmul(Call& c) {
  const std::vector<Datum> a = standard_results(c, "DynamicQuantizeLinear", 11, {c.datum(0)});
  const Value product = integer_product(c, a.at(0), c.datum(1), a.at(2), optional(c, 3));
  return scaled(c, product, a.at(1).value() * c[2], 4);
}
Results matmul_integer_to_float(Call& c) {
  return scaled(c, integer_product(c, c.datum(0), c.datum(1), optional(c, 4), optional(c, 5)), c[2] * c[3], 6);
}

// alpha (A B + C), where C has steps of the product of A's and B's; in steps again where the result's scale is given.
Results quantized_gemm(Call& c) {
  const auto matrix = [&](int i, std::string_view transposed) {
    c.check(c[i].rank() == 2, "input ", i, " is ", c[i].shape());
    return c.i(transposed, 0) ? c.like(i, transpose(c[i])) : c.datum(i);
  };
  Value sums = integer_product(c, matrix(0, "transA"), matrix(3, "transB"), optional(c, 2), optional(c, 5));
  if (c.has(6)) sums = sums + c[6];
  const Value y = of_type(sums, DType::F32) * (c.f("alpha", 1) * of_type(c[1], DType::F32) * of_type(c[4], DType::F32));
  if (!c.has(7)) return y;
  const Datum zero = c.has(8) ? c.datum(8) : Datum(zeros({}, c.device(), c[0].dtype()));
  return standard(c, "QuantizeLinear", 13, {Datum(y), c.datum(7), zero});
}

// ---- LSTM ---------------------------------------------------------------------------------------------------------
// x [rows, in] rounded to 8 bits between its least and its greatest number, as ONNX Runtime does before each product,
// times the weights of all gates of one direction: [in, gates * hidden], with one scale and zero point, or one a column.
struct GateWeights {
  Value codes, scale, zero;  // zero: empty where there is none
  Value times(const Call& c, const Value& x) const {
    const std::vector<Datum> steps = standard_results(c, "DynamicQuantizeLinear", 11, {Datum(x)});
    const Datum weight_zero = zero.empty() ? Datum() : Datum(zero);
    const Value product = integer_product(c, steps.at(0), Datum(codes), steps.at(2), weight_zero);
    return of_type(product, DType::F32) * (steps.at(1).value() * scale);
  }
};
GateWeights gate_weights(const Call& c, int weight, int scale, std::int64_t direction) {
  const Value& codes = c[weight];
  const auto of_direction = [&](int input) {
    const Value& x = c[input];
    const std::int64_t directions = codes.dim(0), each = x.rank() == 2 ? x.dim(1) : 1;
    c.check(x.rank() >= 1 && x.numel() == directions * each && (each == 1 || each == codes.dim(2)), "input ", input,
            " is ", x.shape(), " for ", codes.shape());
    return reshape(narrow(x, 0, direction, 1), each == 1 ? Shape{} : Shape{each});
  };
  return {at(codes, 0, direction), of_type(of_direction(scale), DType::F32),
          c.has(scale + 1) ? of_direction(scale + 1) : Value()};
}

// What no sequence of the batch reaches is not looked at for the range of x, and what a finished one has left counts as 0. A
// sequence of no length leaves zeros, where LSTM leaves what it began with.
Results dynamic_quantize_lstm(Call& c) {
  const Value &x = c[0], &w = c[1], &r = c[2];
  c.check(x.rank() == 3 && x.dtype() == DType::F32, "X is ", c.datum(0), ", not float32 of rank 3");
  for (const int i : {1, 2})
    c.check(c[i].rank() == 3 && (c[i].dtype() == DType::U8 || c[i].dtype() == DType::I8), "input ", i, " is ",
            c.datum(i), ", not 8-bit weights of rank 3");
  const Ints lengths = c.ints(4);
  const std::int64_t longest = lengths.empty() ? x.dim(0) : *std::max_element(lengths.begin(), lengths.end());
  std::vector<GateProducts> directions;
  for (std::int64_t d = 0; d < std::min(w.dim(0), r.dim(0)); ++d) {
    const GateWeights of_x = gate_weights(c, 1, 8, d), of_h = gate_weights(c, 2, 10, d);
    const auto input = [&c, longest, of_x](const Value& all) {
      const std::int64_t time = all.dim(0), batch = all.dim(1), gates = of_x.codes.dim(1);
      if (all.numel() == 0 || longest == 0) return zeros({time, batch, gates}, c.device(), DType::F32);
      const Value rows = reshape(narrow(all, 0, 0, longest), {longest * batch, all.dim(2)});
      const Value made = reshape(of_x.times(c, rows), {longest, batch, gates});
      return longest == time ? made : pad(made, {0, 0, 0}, {time - longest, 0, 0});
    };
    const auto recurrence = [&c, of_h](const Value& h) { return of_h.times(c, h); };
    directions.push_back({input, recurrence});
  }
  std::vector<Datum> in{c.datum(0), Datum(permute(w, {0, 2, 1})), Datum(permute(r, {0, 2, 1}))};
  for (int i = 3; i < 8; ++i) in.push_back(optional(c, i));
  Call call{c.node, c.graph, c.frame, c.context, std::move(in)};
  Results results = lstm_with(call, directions);
  if (std::find(lengths.begin(), lengths.end(), 0) == lengths.end()) return results;
  const Value any = reshape(gt(of_type(c[4], DType::I64), 0), {1, x.dim(1), 1});
  for (std::size_t i : {1u, 2u}) {
    const Value& last = results.list[i].value();
    results.list[i] = Datum(where(any, last, zeros_like(last)));
  }
  return results;
}

// ---- functions of quantised tensors: of the numbers that they stand for, quantised again --------------------------
Value real(const Call& c, int x) {
  const Value scale = reshape(of_type(c[x + 1], DType::F32), {});
  Value steps = cast(c[x], DType::F32);
  if (c.has(x + 2)) steps = steps - reshape(cast(c[x + 2], DType::F32), {});
  return steps * scale;
}
Datum quantised(const Call& c, const Value& x, int scale) {
  const Datum zero = c.has(scale + 1) ? c.datum(scale + 1) : Datum(zeros({}, c.device(), c[0].dtype()));
  return standard(c, "QuantizeLinear", 13, {Datum(x), c.datum(scale), zero});
}

template <Value (*function)(const Value&, const Value&)>
Results of_two(Call& c) {
  return quantised(c, function(real(c, 0), real(c, 3)), 6);
}
Results sigmoid_of(Call& c) { return quantised(c, sigmoid(real(c, 0)), 3); }
Results leaky_relu_of(Call& c) { return quantised(c, leaky_relu(real(c, 0), c.f("alpha", 0.01f)), 3); }

Results softmax_of(Call& c) {
  const int version = static_cast<int>(c.i("opset", 13));
  c.check(version >= 1 && version <= kNewestOpset, "opset is ", version);
  return quantised(c, standard(c, "Softmax", version, {Datum(real(c, 0))}).value(), 3);
}

// `run` takes and gives [batch, channels, sizes...]; the node's tensors may have their channels last.
template <class F>
Value with_channels_first(const Call& c, const Value& x, const F& run) {
  const int rank = x.rank();
  c.check(rank >= 3, "an operand of shape ", x.shape());
  if (c.i("channels_last", 0) == 0) return run(x);
  Dims to_front{0, rank - 1}, back{0};
  for (int d = 1; d < rank - 1; ++d) to_front.push_back(d), back.push_back(d + 1);
  back.push_back(1);
  return permute(run(permute(x, to_front)), back);
}

Results pool(Call& c, std::string_view op) {
  const auto run = [&](const Value& x) { return standard(c, op, 22, {Datum(x)}).value(); };
  return quantised(c, with_channels_first(c, real(c, 0), run), 3);
}
Results convolution(Call& c) {
  const auto run = [&](const Value& x) {
    std::vector<Datum> in = c.in;
    in.at(0) = Datum(x);
    return standard(c, "QLinearConv", 10, std::move(in)).value();
  };
  return with_channels_first(c, c[0], run);
}

Results mean_of(Call& c) { return quantised(c, standard(c, "ReduceMean", 13, {Datum(real(c, 0))}).value(), 3); }
Results choice(Call& c) { return quantised(c, where(c[0], real(c, 1), real(c, 4)), 7); }

Results concat(Call& c) {
  c.check(c.inputs() >= 5 && (c.inputs() - 2) % 3 == 0, "there are ", c.inputs(), " inputs");
  Values parts;
  for (int i = 2; i < c.inputs(); i += 3) parts.push_back(real(c, i));
  return quantised(c, cat(parts, c.dim(c.i("axis", 0), parts[0].rank())), 0);
}

constexpr OperatorRow kQuantizedRows[] = {
    {"DynamicQuantizeLSTM", 1, dynamic_quantize_lstm},
    {"DynamicQuantizeMatMul", 1, dynamic_quantize_matmul},
    {"MatMulIntegerToFloat", 1, matmul_integer_to_float},
    {"MatMulNBits", 1, matmul_n_bits, {.lacks = odd_bits}},
    {"QGemm", 1, quantized_gemm},
    {"QLinearAdd", 1, of_two<add>},
    {"QLinearAveragePool", 1, [](Call& c) { return pool(c, "AveragePool"); }},
    {"QLinearConcat", 1, concat},
    {"QLinearConv", 1, convolution},
    {"QLinearGlobalAveragePool", 1, [](Call& c) { return pool(c, "GlobalAveragePool"); }},
    {"QLinearLeakyRelu", 1, leaky_relu_of},
    {"QLinearMul", 1, of_two<mul>},
    {"QLinearReduceMean", 1, mean_of},
    {"QLinearSigmoid", 1, sigmoid_of},
    {"QLinearSoftmax", 1, softmax_of},
    {"QLinearWhere", 1, choice},
};

}  // namespace

std::span<const OperatorRow> quantized_rows() { return kQuantizedRows; }

}  // namespace kiln::onnx
