#include "tests/backend/onednn/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/conv/conv.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/matmul/matmul.hpp"
#include "kiln/backend/cpu/onednn/conv_primitive.hpp"
#include "kiln/backend/cpu/onednn/layout.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/core/half.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::cpu::onednn {
namespace {

using std::int64_t;
using Numbers = std::vector<float>;

constexpr int kNaN = 0xff;  // every byte: NaN in all float types

void store(DType dtype, std::byte* to, float number) {
  if (dtype == DType::BF16) *reinterpret_cast<BF16*>(to) = BF16(number);
  else if (dtype == DType::F16) *reinterpret_cast<F16*>(to) = F16(number);
  else if (dtype == DType::F64) *reinterpret_cast<double*>(to) = number;
  else *reinterpret_cast<float*>(to) = number;
}
double load(DType dtype, const std::byte* from) {
  if (dtype == DType::F64) return *reinterpret_cast<const double*>(from);
  if (dtype == DType::BF16) return static_cast<float>(*reinterpret_cast<const BF16*>(from));
  if (dtype == DType::F16) return static_cast<float>(*reinterpret_cast<const F16*>(from));
  return *reinterpret_cast<const float*>(from);
}

/// An operand with NaN before, behind and, until something is written, in it.
class Guarded {
 public:
  Guarded(std::size_t bytes, std::size_t shift)
      : bytes_(bytes), at_(kMargin + shift), block_(make_ref<Memory>(at_ + bytes + kMargin)) {
    std::memset(block_->bytes(), kNaN, block_->size());
  }
  Guarded(DType dtype, const Numbers& numbers, int64_t shift)
      : Guarded(numbers.size() * size_of(dtype), static_cast<std::size_t>(shift) * size_of(dtype)) {
    for (std::size_t i = 0; i < numbers.size(); ++i) store(dtype, data() + i * size_of(dtype), numbers[i]);
  }
  std::byte* data() const { return block_->bytes() + at_; }
  bool intact() const {
    const auto untouched = [](const std::byte* begin, const std::byte* end) {
      return std::all_of(begin, end, [](std::byte byte) { return byte == std::byte{kNaN}; });
    };
    return untouched(block_->bytes(), data()) && untouched(data() + bytes_, block_->bytes() + block_->size());
  }

 private:
  static constexpr std::size_t kMargin = 4096;
  std::size_t bytes_, at_;
  Ref<Memory> block_;
};

/// Compares number i, got(i), with expected[i]; one rounding is allowed.
template <class F>
Finding compare(DType dtype, const Numbers& expected, F&& got) {
  const double rounding = dtype == DType::BF16 ? 1.0 / 256 : dtype == DType::F16 ? 1.0 / 2048 : 0;
  double worst = 0, largest = 1;
  bool nan = false, wrong = false;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    double right = expected[i];
    const double number = got(i);
    if (dtype == DType::F16 && std::abs(right) >= 65520) right = std::copysign(INFINITY, right);
    if (number == right) continue;
    const double error = std::abs(number - right);
    if (std::isnan(error)) nan = true;
    else if (error > rounding * std::abs(right)) wrong = true, worst = std::max(worst, error);
  }
  return {.what = nan     ? Finding::What::NaN
                  : wrong ? Finding::What::Wrong
                          : Finding::What::Right,
          .error = worst / largest,
          .implementation = {}};
}

/// y with a bias.
Numbers plus(const Numbers& y, const Numbers& bias) {
  Numbers sums = y;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += bias[i % bias.size()];
  return sums;
}

void reorder(const MemoryDesc& from_desc, std::byte* from, const MemoryDesc& to_desc, std::byte* to) {
  dnnl::memory source(from_desc, engine(), from), target(to_desc, engine(), to);
  dnnl::reorder(source, target).execute(stream(), source, target);
}

Array weight_array(const Geometry& g, DType dtype, std::byte* data) {
  Shape shape{g.out, g.in / g.groups};
  for (const int64_t size : g.kernel) shape.push_back(size);
  return {data, dtype, shape, contiguous_strides(shape)};
}

Finding check_made(Primitive& primitive, const Geometry& g, const Truth& truth, Pass pass, DType dtype, bool with_bias,
                   int64_t shift) {
  const Guarded x(dtype, truth.x, shift), y(dtype, truth.y, shift), bias(dtype, truth.bias, 0);
  const Numbers& expected = pass == Pass::Forward ? truth.forward
                            : pass == Pass::Data  ? truth.data_grad
                                                  : truth.weight_grad;
  const bool weight_comes_out = pass == Pass::Weight;
  const DType out_type = weight_comes_out ? DType::F32 : dtype;
  const Guarded plain(weight_comes_out ? DType::F32 : dtype, truth.weight, 0);
  const MemoryDesc plain_desc = plain_weight(weight_array(g, out_type, plain.data()), g.groups),
                   weight_desc = primitive.desc(weight_comes_out ? 2 : 1);
  const Guarded weight(weight_desc.get_size(), 0);
  const Guarded result(expected.size() * size_of(out_type),
                       static_cast<std::size_t>(weight_comes_out ? 0 : shift) * size_of(out_type));
  if (!weight_comes_out) reorder(plain_desc, plain.data(), weight_desc, weight.data());

  const std::size_t scratch_bytes = primitive.scratchpad_bytes(), margin = 4096;
  std::byte* const scratch = scratchpad(scratch_bytes + margin);
  std::memset(scratch, kNaN, scratch_bytes + margin);
  primitive.place(0, pass == Pass::Data ? y.data() : x.data());
  primitive.place(1, weight_comes_out ? y.data() : weight.data());
  primitive.place(2, weight_comes_out ? weight.data() : result.data());
  if (with_bias) primitive.place(3, bias.data());
  primitive.execute();
  if (weight_comes_out) reorder(weight_desc, weight.data(), plain_desc, result.data());

  Finding finding = compare(out_type, with_bias ? plus(expected, truth.bias) : expected,
                            [&](std::size_t i) { return load(out_type, result.data() + i * size_of(out_type)); });
  const bool scratch_intact = std::all_of(scratch + scratch_bytes, scratch + scratch_bytes + margin,
                                          [](std::byte byte) { return byte == std::byte{kNaN}; });
  if (!scratch_intact || !result.intact() || !weight.intact() || !x.intact() || !y.intact())
    finding.what = Finding::What::Overrun;
  return finding;
}

Value new_value(const Shape& shape, DType dtype) { return Value(make_ref<Node>(Desc{shape, dtype}, Device{})); }

/// Calls f(place in memory, place in channels-last order) for the elements of an image tensor.
template <class F>
void each_place(const Array& array, F&& f) {
  const Dims order = channels_last_strides(array.shape);
  Shape index = Shape::filled(array.shape.size(), 0);
  for (int64_t n = array.numel(); n > 0; --n) {
    int64_t at = 0, in_order = 0;
    for (int i = 0; i < index.size(); ++i) {
      at += index[i] * array.strides[i];
      in_order += index[i] * order[i];
    }
    f(at, static_cast<std::size_t>(in_order));
    for (int i = index.size() - 1; i >= 0 && ++index[i] == array.shape[i]; --i) index[i] = 0;
  }
}

Value image_value(const Shape& shape, DType dtype, const Numbers& numbers, bool plain) {
  Value value = new_value(shape, dtype);
  const Array array = plain ? allocate(value) : allocate(value, channels_last_strides(shape));
  const auto size = static_cast<int64_t>(size_of(dtype));
  each_place(array, [&](int64_t at, std::size_t i) { store(dtype, array.data + at * size, numbers[i]); });
  return value;
}
Value plain_value(const Shape& shape, DType dtype, const Numbers& numbers) {
  Value value = new_value(shape, dtype);
  const Array array = allocate(value);
  for (std::size_t i = 0; i < numbers.size(); ++i) store(dtype, array.data + i * size_of(dtype), numbers[i]);
  return value;
}

/// run(op, call) on one thread, three times, and on three threads: the second and third time the weights may be packed
/// already.
template <class Run, class Op, class Compare>
Finding check_op(Run&& run, const Op& op, const std::vector<Value>& in, Compare&& compare_with) {
  const Descs descs = op.infer(in);
  const int before = num_threads();
  Finding finding;
  std::vector<std::byte> first;
  for (const int threads : {1, 1, 1, 3}) {
    set_num_threads(threads);
    Value out = new_value(descs[0].shape, descs[0].dtype);
    if (!run(op, {in, {&out, 1}})) {
      finding.what = Finding::What::None;
      break;
    }
    const Array array = read(out);
    const std::size_t bytes = static_cast<std::size_t>(array.numel()) * size_of(array.dtype);
    if (first.empty()) {
      finding = compare_with(array);
      first.assign(array.data, array.data + bytes);
    } else if (std::memcmp(first.data(), array.data, bytes) != 0 && !finding.failed()) {
      finding.what = Finding::What::Unsteady;
    }
    if (finding.failed()) break;
  }
  set_num_threads(before);
  return finding;
}

}  // namespace

const char* name(Pass pass) {
  constexpr const char* kNames[] = {"forward", "data", "weight"};
  return kNames[static_cast<int>(pass)];
}
const char* name(Finding::What what) {
  constexpr const char* kNames[] = {"right", "none", "wrong", "nan", "overrun", "unsteady"};
  return kNames[static_cast<int>(what)];
}

Finding check_primitive(const Geometry& g, const Truth& truth, Pass pass, DType dtype, bool with_bias, int64_t shift) {
  const OneThread one_thread;
  with_bias &= pass == Pass::Forward;
  Primitive& primitive = conv_primitive(pass, g, dtype, with_bias);
  Finding finding{.what = Finding::What::None, .implementation = {}};
  if (primitive) finding = check_made(primitive, g, truth, pass, dtype, with_bias, shift);
  finding.implementation = primitive.implementation();
  return finding;
}

namespace {

template <class Run>
Finding check_run(Run&& run, const Geometry& g, const Truth& truth, Pass pass, DType dtype, bool with_bias,
                  bool plain) {
  Shape x_shape{g.batch, g.in}, y_shape{g.batch, g.out};
  for (int i = 0; i < g.sizes.size(); ++i) {
    x_shape.push_back(g.sizes[i]);
    y_shape.push_back(g.result[i]);
  }
  const auto size = static_cast<int64_t>(size_of(dtype));
  const auto image_is = [&](const Numbers& expected) {
    return [&](const Array& array) {
      std::vector<double> got(expected.size());
      each_place(array, [&](int64_t at, std::size_t i) { got[i] = load(dtype, array.data + at * size); });
      return compare(dtype, expected, [&](std::size_t i) { return got[i]; });
    };
  };
  const Value x = image_value(x_shape, dtype, truth.x, plain), y = image_value(y_shape, dtype, truth.y, plain),
              weight = plain_value(weight_array(g, dtype, nullptr).shape, dtype, truth.weight);
  if (pass == Pass::Forward) {
    if (!with_bias) return check_op(run, conv_of(g), {x, weight}, image_is(truth.forward));
    const Numbers expected = plus(truth.forward, truth.bias);
    return check_op(run, conv_of(g), {x, weight, plain_value({g.out}, dtype, truth.bias)}, image_is(expected));
  }
  if (pass == Pass::Data)
    return check_op(run, op::ConvTranspose{conv_of(g), g.sizes}, {y, weight}, image_is(truth.data_grad));
  return check_op(run, op::ConvWeightGrad{conv_of(g), g.kernel}, {x, y}, [&](const Array& array) {
    KILN_CHECK(array.contiguous());
    return compare(dtype, truth.weight_grad,
                   [&](std::size_t i) { return load(dtype, array.data + static_cast<int64_t>(i) * size); });
  });
}

}  // namespace

Finding check_kernel(const Geometry& g, const Truth& truth, Pass pass, DType dtype, bool with_bias, bool plain) {
  const auto kernel = [](const auto& op, const Call& call) { return conv::run(op, call); };
  return check_run(kernel, g, truth, pass, dtype, with_bias, plain);
}

Finding check_reference(const Geometry& g, const Truth& truth, Pass pass, bool with_bias) {
  const auto kernel = [](const auto& op, const Call& call) {
    reference::run(op, call);
    return true;
  };
  return check_run(kernel, g, truth, pass, DType::F64, with_bias, true);
}

Finding check_matmul(std::uint64_t seed, std::uint64_t index, DType dtype, std::string& sizes) {
  const Numbers draws = whole_numbers(12, seed * 0x2545f4914f6cdd1du + index, 1 << 20);
  std::size_t next = 0;
  const auto draw = [&](int64_t least, int64_t most) {
    return least + (static_cast<int64_t>(draws[next++]) + (1 << 20)) % (most - least + 1);
  };
  const auto size = [&] { return draw(0, 2) ? draw(1, 70) : draw(1, 300); };
  const int64_t batch = draw(0, 1) ? 1 : draw(2, 5), m = size(), n = size(), k = size();
  const bool turn_a = draw(0, 2) == 0, turn_b = draw(0, 2) == 0;
  sizes = "b=" + std::to_string(batch) + " m=" + std::to_string(m) + " n=" + std::to_string(n) +
          " k=" + std::to_string(k) + (turn_a ? " a transposed" : "") + (turn_b ? " b transposed" : "");
  const Numbers a = whole_numbers(batch * m * k, seed + 2 * index, 8),
                b = whole_numbers(batch * k * n, seed + 2 * index + 1, 8);
  const auto matrices = [&](const Numbers& numbers, int64_t rows, int64_t columns, bool turned) {
    const Value held = plain_value({batch, rows, columns}, dtype, numbers);
    if (!turned) return held;
    Value view = new_value({batch, columns, rows}, dtype);
    alias(view, held, {rows * columns, 1, columns}, 0);
    return view;
  };
  Numbers expected(static_cast<std::size_t>(batch * m * n));
  const auto at = [](const Numbers& numbers, int64_t matrix, int64_t row, int64_t column, int64_t rows, int64_t columns,
                     bool turned) {
    return numbers[static_cast<std::size_t>(matrix * rows * columns +
                                            (turned ? column * rows + row : row * columns + column))];
  };
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t row = 0; row < m; ++row)
      for (int64_t l = 0; l < k; ++l) {
        const float left = at(a, i, row, l, m, k, turn_a);
        for (int64_t column = 0; column < n; ++column)
          expected[static_cast<std::size_t>((i * m + row) * n + column)] += left * at(b, i, l, column, k, n, turn_b);
      }
  const auto kernel = [](const op::Matmul& op, const Call& call) {
    disable(algorithms_in("amx_matmul,few_halves"));
    const bool is_made = matmul::run(op, call);
    disable({});
    return is_made;
  };
  return check_op(kernel, op::Matmul{},
                  {turn_a ? matrices(a, k, m, true) : matrices(a, m, k, false),
                   turn_b ? matrices(b, n, k, true) : matrices(b, k, n, false)},
                  [&](const Array& array) {
                    return compare(dtype, expected,
                                   [&](std::size_t i) { return load(dtype, array.data + i * size_of(dtype)); });
                  });
}

}  // namespace kiln::cpu::onednn
