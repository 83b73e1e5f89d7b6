// The program behind `./dev bench sweep`: answers each line of standard input, a call as calls.py writes them and before
// it the seconds to measure for, with a line of JSON: the milliseconds of processor time that the call takes.
#include <algorithm>
#include <ctime>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "bench/clock.hpp"
#include "bench/sweep/functions.hpp"
#include "kiln/autodiff/backward.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/create/create.hpp"
#include "kiln/ops/create/random.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/reduce/order.hpp"

namespace bench {
namespace {

DType dtype_of_word(const std::string& word) {
  const std::map<std::string, DType> all{
      {"f64", DType::F64}, {"f32", DType::F32}, {"f16", DType::F16}, {"bf16", DType::BF16}, {"i64", DType::I64},
      {"i32", DType::I32}, {"i16", DType::I16}, {"i8", DType::I8},   {"u8", DType::U8},     {"bool", DType::Bool}};
  return all.at(word);
}

/// What an operand such as `f32[1000,100]+` says.
Value operand(const std::string& text, const Device& device) {
  const std::size_t open = text.find('['), close = text.find(']');
  require<ArgumentError>(open != std::string::npos && close != std::string::npos, "no operand: ", text);
  const DType dtype = dtype_of_word(text.substr(0, open));
  Shape shape;
  std::istringstream sizes(text.substr(open + 1, close - open - 1));
  for (std::string size; std::getline(sizes, size, ',');) shape.push_back(std::stoll(size));
  const std::string kind = text.substr(close + 1);
  const bool turned = kind.ends_with('t');
  if (turned) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);

  Value x;
  if (kind.starts_with('<')) x = randint(shape, 0, std::stoll(kind.substr(1)), device, dtype);
  else if (dtype == DType::Bool) x = bernoulli(shape, 0.5, device, dtype);
  else if (is_integer(dtype)) x = randint(shape, 0, 100, device, dtype);
  else if (kind.starts_with('+')) x = uniform(shape, 0.1, 1.1, device);
  else if (kind.starts_with('~')) x = uniform(shape, -0.9, 0.9, device);
  else x = normal(shape, 0, 1, device);
  if (kind.starts_with('s')) x = sort(x, -1).values;
  if (kind.starts_with('d')) {
    const std::int64_t n = shape[shape.size() - 1];
    x = matmul(x, transpose(x)) / n + eye({n, n}, device);
  }
  x = cast(x, dtype);
  return turned ? transpose(x) : x;
}

struct Call {
  Function function;
  Values operands;
  Values seeds;  // of the results, where gradients are asked for
  Values leaves;

  explicit Call(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    const auto found = functions().find(word);
    require<ArgumentError>(found != functions().end(), "no function: ", word);
    function = found->second;
    const bool backward = line.ends_with(" backward");
    const Device device = backward ? Device::cpu().autodiff() : Device::cpu();
    while (words >> word && word != "backward") {
      Value x = operand(word, device);
      if (backward && is_float(x.dtype())) leaves.push_back(x = x.detach().require_grad());
      operands.push_back(x);
    }
    if (backward) {
      const Value y = function(operands)[0];
      seeds.push_back(normal(y.shape(), 0, 1, device, y.dtype()));
    }
    for (const Value& x : operands) x.device().sync();
  }

  void operator()() const {
    const Values results = function(operands);
    Values gradients;
    if (!leaves.empty()) gradients = grad({results.data(), 1}, seeds, leaves);
    operands[0].device().sync();
  }
};

double now_ms() { return 1e3 * bench::process_seconds(); }

/// The median over batches, each of at least a millisecond.
double measure(const Call& call, double seconds) {
  for (int i = 0; i < 3; ++i) call();
  std::vector<double> times;
  std::int64_t count = 1;
  const double start = now_ms();
  while (now_ms() - start < 1e3 * seconds || times.size() < 3) {
    const double begin = now_ms();
    for (std::int64_t i = 0; i < count; ++i) call();
    const double elapsed = now_ms() - begin;
    if (elapsed < 1 && times.empty()) count *= 2;
    else times.push_back(elapsed / static_cast<double>(count));
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

std::string answer(const std::string& line) {
  try {
    const std::size_t space = line.find(' ');
    return nlohmann::json{{"ms", measure(Call(line.substr(space + 1)), std::stod(line.substr(0, space)))}}.dump();
  } catch (const std::exception& error) { return nlohmann::json{{"error", error.what()}}.dump(); }
}

}  // namespace
}  // namespace bench

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << bench::answer(line) << '\n' << std::flush;
}
