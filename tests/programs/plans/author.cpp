#include <algorithm>
#include <cmath>

#include "kiln/core/half.hpp"
#include "tests/programs/plans/program.hpp"

namespace kiln::plans {
namespace {

constexpr DType kFloats[] = {DType::F32, DType::BF16, DType::F16, DType::F64};
constexpr DType kIntegers[] = {DType::I64, DType::I32, DType::U8};

/// Fixed numbers that every type of their kind holds exactly, up to a few in size.
/// `wild`: large ones that cancel each other out are among them, so that sums depend on the order of their terms.
Value numbers(const Shape& shape, DType dtype, std::uint64_t seed, const Device& device, DType as, bool wild) {
  Random random(Key{seed});
  std::vector<float> list(static_cast<std::size_t>(numel(shape)));
  for (float& number : list)
    number = kind_of(dtype) == Kind::Float ? static_cast<float>(random.below(255) - 127) / 64
                                           : static_cast<float>(random.below(dtype == DType::Bool ? 2 : 7));
  for (std::size_t i = 0; wild && i + 6 < list.size(); i += 7) {
    list[i] = std::ldexp(list[i], 55);
    list[i + 1 + static_cast<std::size_t>(random.below(6))] = -list[i];
  }
  return from_data(TensorData::of<float>(shape, std::span<const float>(list)).to(dtype).to(as), device);
}

/// The lambda of a Line and its text.
#define KILN_LINE(...)                                                                              \
  #__VA_ARGS__, [](const Device&, const Values& in, [[maybe_unused]] const Types& types) -> Value { \
    [[maybe_unused]] const Value &x = in[0], &y = in[in.size() > 1], &z = in[in.size() - 1];        \
    return __VA_ARGS__;                                                                             \
  }

struct Function {
  const char* code;
  std::function<Value(const Device&, const Values&, const Types&)> run;
  bool decides = false;
};

const std::vector<Function>& curves() {
  static const std::vector<Function> all = {
      {KILN_LINE(neg(x))},
      {KILN_LINE(abs(x))},
      {KILN_LINE(tanh(x))},
      {KILN_LINE(sigmoid(x))},
      {KILN_LINE(gelu(x))},
      {KILN_LINE(silu(x))},
      {KILN_LINE(relu(x))},
      {KILN_LINE(sin(x))},
      {KILN_LINE(softplus(x))},
      {KILN_LINE(softsign(x))},
      {KILN_LINE(erf(x))},
      {KILN_LINE(square(tanh(x)))},
      {KILN_LINE(sqrt(abs(x) + 0.0625))},
      {KILN_LINE(exp(neg(abs(x))))},
      {KILN_LINE(x * 1.5 + 0.25)},
      {KILN_LINE(0.75 - x)},
      {KILN_LINE(clamp(x, -1.5, 2.0))},
      {KILN_LINE(floor(x)), true},
      {KILN_LINE(sign(x)), true},
  };
  return all;
}
const std::vector<Function>& surfaces() {
  static const std::vector<Function> all = {{KILN_LINE(x + y)},         {KILN_LINE(x - y)},
                                            {KILN_LINE(x * y)},         {KILN_LINE(x * y + x)},
                                            {KILN_LINE(maximum(x, y))}, {KILN_LINE(minimum(x, y))},
                                            {KILN_LINE(hypot(x, y))},   {KILN_LINE(x / (abs(y) + 1.0))}};
  return all;
}
const std::vector<Function>& of_integers() {
  static const std::vector<Function> all = {{KILN_LINE(x + y)},
                                            {KILN_LINE(x * y)},
                                            {KILN_LINE(maximum(x, y))},
                                            {KILN_LINE(minimum(x, y))},
                                            {KILN_LINE(bitwise_and(x, y))},
                                            {KILN_LINE(bitwise_xor(x, y))}};
  return all;
}
const std::vector<Function>& tests() {
  static const std::vector<Function> all = {
      {KILN_LINE(lt(x, y)), true}, {KILN_LINE(ge(x, y)), true}, {KILN_LINE(eq(x, y)), true}};
  return all;
}

class Author {
 public:
  explicit Author(std::uint64_t seed) : random_(Key{seed}.split(11)) { program_.seed = seed, wild_ = seed % 5 == 0; }

  Program write() {
    const auto dice = below(100);
    mixed_ = one_in(4);
    main_ = kFloats[std::min<std::int64_t>(below(8), 3)];
    if (!mixed_) main_ = kFloats[below(4)];
    if (dice < 66) write_small();
    else if (dice < 80) write_updates();
    else if (dice < 89) write_product();
    else if (dice < 96) write_conv();
    else write_large();
    choose_readings();
    const bool half = std::ranges::any_of(
        program_.lines, [](const Line& line) { return line.dtype == DType::F16 || line.dtype == DType::BF16; });
    program_.differentiates = !half && !wild_ && program_.scale != "large" && one_in(3);
    return std::move(program_);
  }

 private:
  std::int64_t below(std::int64_t limit) { return random_.below(limit); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  DType some_float() { return mixed_ ? kFloats[below(4)] : main_; }
  const Line& line(int i) const { return program_.lines[static_cast<std::size_t>(i)]; }

  // ---- lines -------------------------------------------------------------------------------------------------------

  int leaf(const Shape& shape, DType dtype) {
    const std::uint64_t seed = program_.seed * 1000 + program_.lines.size();
    const bool wild = wild_ && (dtype == DType::F32 || dtype == DType::F64);
    Line made{.code = text("numbers(", shape, ", DType::", dtype, ", ", seed, wild ? ", wild)" : ")"),
              .in = {},
              .run = [=](const Device& device, const Values&,
                         const Types& types) { return numbers(shape, dtype, seed, device, types(dtype), wild); },
              .shape = shape,
              .dtype = dtype};
    made.leaf = true;
    made.decided = wild;
    program_.lines.push_back(std::move(made));
    return last();
  }
  int last() const { return static_cast<int>(program_.lines.size()) - 1; }

  int add(const Function& function, std::vector<int> in, const Shape& shape, DType dtype) {
    Line made{.code = function.code, .in = std::move(in), .run = function.run, .shape = shape, .dtype = dtype};
    for (const int i : made.in) { made.decided |= line(i).decided; }
    made.decided |= function.decides;
    program_.lines.push_back(std::move(made));
    return last();
  }
  int hide(int i) {
    program_.lines[static_cast<std::size_t>(i)].hidden = true;
    return i;
  }

  /// Some line of that kind of shape `shape`, or that broadcasts to it; a later one rather. -1: there is none.
  int some(Kind kind, const Shape& shape, bool same) {
    std::vector<int> candidates;
    for (int i = 0; i <= last(); ++i) {
      const Line& each = line(i);
      if (each.hidden || kind_of(each.dtype) != kind || (same ? each.shape != shape : !fits(each.shape, shape)))
        continue;
      candidates.push_back(i);
    }
    if (candidates.empty()) return -1;
    const auto count = static_cast<std::int64_t>(candidates.size());
    return candidates[static_cast<std::size_t>(std::max(below(count), below(count)))];
  }
  static bool fits(const Shape& one, const Shape& whole) {
    if (one.size() > whole.size()) return false;
    for (int i = 1; i <= one.size(); ++i)
      if (one[one.size() - i] != 1 && one[one.size() - i] != whole[whole.size() - i]) return false;
    return true;
  }

  /// One more elementwise line of that shape.
  void add_elementwise(const Shape& shape) {
    const auto dice = below(100);
    const int x = some(Kind::Float, shape, true);
    const auto pick = [&](const std::vector<Function>& list) -> const Function& {
      return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
    };
    if (wild_ && dice < 60) {  // what keeps the size of numbers
      add({KILN_LINE(x * 1.5 + 0.25)}, {x}, shape, line(x).dtype);
    } else if (dice < 40) {
      add(pick(curves()), {x}, shape, line(x).dtype);
    } else if (dice < 70) {
      const int y = some(Kind::Float, shape, false);
      add(pick(surfaces()), {x, y}, shape, promote(line(x).dtype, line(y).dtype));
    } else if (dice < 78) {
      add(pick(tests()), {x, some(Kind::Float, shape, false)}, shape, DType::Bool);
    } else if (dice < 84) {
      const int condition = some(Kind::Bool, shape, false), y = some(Kind::Float, shape, false);
      if (condition >= 0)
        add({KILN_LINE(where(x, y, z))}, {condition, x, y}, shape, promote(line(x).dtype, line(y).dtype));
    } else if (dice < 92) {
      add_cast(x, shape, kFloats[below(4)]);
    } else if (dice < 95) {
      add_cast(x, shape, kIntegers[below(2)]);
      program_.lines.back().decided = true;
    } else {
      const int a = some(Kind::Int, shape, true), b = some(Kind::Int, shape, false);
      if (a < 0) return;
      add(pick(of_integers()), {a, b}, shape, promote(line(a).dtype, line(b).dtype));
      add_cast(last(), shape, one_in(2) ? DType::F32 : DType::F64);
    }
  }
  void add_cast(int x, const Shape& shape, DType dtype) {
    add({"", [dtype](const Device&, const Values& in, const Types& types) { return cast(in[0], types(dtype)); }}, {x},
        shape, dtype);
    program_.lines.back().code = text("cast(x, DType::", dtype, ")");
  }

  Shape rows_of(Shape shape) const {
    shape[shape.size() - 1] = 1;
    return shape;
  }
  void add_reduction(const Shape& shape) {
    const int x = some(Kind::Float, shape, true);
    const DType dtype = line(x).dtype;
    switch (below(4)) {
      case 0: add({KILN_LINE(sum(x, {-1}, true))}, {x}, rows_of(shape), dtype); break;
      case 1: add({KILN_LINE(mean(x, {-1}, true))}, {x}, rows_of(shape), dtype); break;
      case 2: add({KILN_LINE(max(x, {-1}, true))}, {x}, rows_of(shape), dtype); break;
      default: add({KILN_LINE(min(x, {-1}, true))}, {x}, rows_of(shape), dtype); break;
    }
  }
  /// A softmax or a norm as users write it.
  void add_spelled_out(const Shape& shape) {
    const int x = some(Kind::Float, shape, true);
    const DType dtype = line(x).dtype;
    const Shape rows = rows_of(shape);
    if (one_in(2)) {
      const int top = add({KILN_LINE(max(x, {-1}, true))}, {x}, rows, dtype);
      const int e = add({KILN_LINE(exp(x - y))}, {x, top}, shape, dtype);
      const int whole = add({KILN_LINE(sum(x, {-1}, true))}, {e}, rows, dtype);
      add({KILN_LINE(x / y)}, {e, whole}, shape, dtype);
    } else {
      const int centre = add({KILN_LINE(mean(x, {-1}, true))}, {x}, rows, dtype);
      const int off = add({KILN_LINE(x - y)}, {x, centre}, shape, dtype);
      const int spread = add({KILN_LINE(mean(square(x), {-1}, true))}, {off}, rows, dtype);
      add({KILN_LINE(x / sqrt(y + 0.5))}, {off, spread}, shape, dtype);
    }
  }
  /// What follows a product: a bias, a function, something added.
  void finish(const Shape& shape, const Shape& bias) {
    int made = hide(last());
    const DType dtype = line(made).dtype;
    if (!one_in(3)) {
      const int more = leaf(bias, dtype);
      made = hide(add({KILN_LINE(x + y)}, {made, more}, shape, dtype));
    }
    const std::vector<Function>& all = curves();
    made = add(all[static_cast<std::size_t>(below(17))], {made}, shape, dtype);
    if (one_in(2)) {
      const int residual = some(Kind::Float, shape, true);
      if (residual != made)
        add({KILN_LINE(x + y)}, {hide(made), residual}, shape, promote(dtype, line(residual).dtype));
    }
  }

  // ---- programs ----------------------------------------------------------------------------------------------------

  void write_small() {
    program_.scale = "small";
    const std::int64_t widths[] = {1, 3, 17, 64, 128, 130, 257};
    const Shape shape{1 + below(40), widths[wild_ ? 4 + below(3) : below(7)]};
    add_leaves(shape);
    for (auto left = 6 + below(30); left > 0; --left) {
      const auto dice = below(12);
      if (dice == 0 || (wild_ && dice > 8)) add_reduction(shape);
      else if (dice == 1 && shape[1] > 1) add_spelled_out(shape);
      else add_elementwise(shape);
    }
  }
  void add_leaves(const Shape& shape) {
    leaf(shape, some_float());
    leaf(shape, some_float());
    leaf({shape.back()}, some_float());
    leaf(rows_of(shape), some_float());
    leaf(shape, DType::Bool);
    leaf(shape, kIntegers[below(3)]);
  }

  void write_updates() {
    program_.scale = "updates";
    const std::int64_t count = 4 + below(12);
    for (std::int64_t i = 0; i < count; ++i) {
      const Shape shape = one_in(3) ? Shape{1 + below(300)} : Shape{1 + below(20), 1 + below(20)};
      const DType dtype = some_float();
      const int param = leaf(shape, dtype), grad = leaf(shape, dtype), moment = leaf(shape, dtype);
      const int moved = add({KILN_LINE(x * 0.875 + y * 0.125)}, {moment, grad}, shape, dtype);
      program_.lines.back().reading = Reading::Late;
      add({KILN_LINE(x - y * 0.0625 / (sqrt(abs(z)) + 0.125))}, {param, moved, grad}, shape, dtype);
      program_.lines.back().reading = Reading::Late;
    }
  }

  void write_product() {
    program_.scale = "product";
    const DType dtype = main_ == DType::F64 ? DType::F32 : main_;
    const std::int64_t rows = 512 + below(3) * 7, width = 256 + below(3) * 5, inner = 1 + below(40);
    const Shape shape{rows, width};
    leaf(shape, dtype);
    const int a = leaf({rows, inner}, dtype), b = leaf({inner, width}, dtype);
    add({KILN_LINE(matmul(x, y))}, {a, b}, shape, dtype);
    finish(shape, {width});
    for (auto left = below(5); left > 0; --left) add_elementwise(shape);
  }

  void write_conv() {
    program_.scale = "conv";
    const DType dtype = main_ == DType::F64 ? DType::F32 : main_;
    const std::int64_t in = 1 + below(12), out = 4 * (1 + below(5)), size = 40 + below(20), kernel = 1 + below(3);
    const Shape shape{2, out, size - kernel + 1, size - kernel + 1};
    const int x = leaf({2, in, size, size}, dtype), w = leaf({out, in, kernel, kernel}, dtype);
    leaf(shape, dtype);
    add({KILN_LINE(conv(x, y, {}))}, {x, w}, shape, dtype);
    finish(shape, {out, 1, 1});
    for (auto left = below(5); left > 0; --left) add_elementwise(shape);
  }

  void write_large() {
    program_.scale = "large";
    const Shape shape{4096 + below(9), 256 + below(9)};
    const DType dtype = some_float();
    leaf(shape, dtype);
    leaf({shape[1]}, dtype);
    add_spelled_out(shape);
    for (auto left = below(4); left > 0; --left) {
      const int x = last();
      add(curves()[static_cast<std::size_t>(below(17))], {x}, shape, line(x).dtype);
    }
  }

  void choose_readings() {
    for (Line& each : program_.lines) {
      if (each.leaf || each.hidden || each.reading != Reading::Never) continue;
      const auto dice = below(12);
      each.reading = dice == 0 && program_.scale != "large" ? Reading::Early
                     : dice < 4                             ? Reading::Late
                                                            : Reading::Never;
      if (program_.scale == "large") each.reading = Reading::Never;
    }
    program_.lines.back().reading = Reading::Late;
  }

  Random random_;
  Program program_;
  DType main_ = DType::F32;
  bool mixed_ = false, wild_ = false;
};

}  // namespace

Program make_program(std::uint64_t seed) { return Author(seed).write(); }

std::string snippet(const Program& program) {
  std::string out = text("// seed ", program.seed, ", ", program.scale, '\n');
  for (std::size_t i = 0; i < program.lines.size(); ++i) {
    const Line& line = program.lines[i];
    if (!line.run) continue;  // taken out
    std::string code;
    for (std::size_t at = 0; at < line.code.size(); ++at) {
      const char letter = line.code[at];
      const auto is_word = [&](std::size_t place) {
        return place < line.code.size() && (std::isalnum(static_cast<unsigned char>(line.code[place])) != 0);
      };
      const bool alone = !is_word(at + 1) && (at == 0 || !is_word(at - 1));
      if (alone && letter >= 'x' && letter <= 'z' && !line.in.empty())
        code += text('v', line.in[std::min<std::size_t>(static_cast<std::size_t>(letter - 'x'), line.in.size() - 1)]);
      else code += letter;
    }
    constexpr const char* kReadings[] = {"", ", read at the end", ", read at once"};
    out += text("const Value v", i, " = ", code, ";  // ", line.dtype, ' ', line.shape,
                kReadings[static_cast<std::size_t>(line.reading)], '\n');
  }
  if (program.differentiates) out += "// and the gradients of the mean squares of what is read at the end\n";
  return out;
}

}  // namespace kiln::plans
