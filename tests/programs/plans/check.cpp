#include <algorithm>
#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "tests/programs/plans/program.hpp"

namespace kiln::plans {
namespace {

/// What was read: of lines, and of gradients by the lines of their leaves.
struct Seen {
  std::map<int, TensorData> lines, gradients;
};

Seen run(const Program& program, const Device& device, const Types& types = {}) {
  Seen seen;
  Values values(program.lines.size());
  Value loss;
  const Device graph = program.differentiates ? device.autodiff() : device;
  std::vector<std::size_t> last_use(program.lines.size());
  for (std::size_t i = 0; i < program.lines.size(); ++i)
    if (program.lines[i].run)
      for (const int operand : program.lines[i].in) last_use[static_cast<std::size_t>(operand)] = i;
  for (std::size_t i = 0; i < program.lines.size(); ++i) {
    const Line& line = program.lines[i];
    if (!line.run) continue;
    Values in;
    for (const int operand : line.in) in.push_back(values[static_cast<std::size_t>(operand)]);
    values[i] = line.run(graph, in, types);
    const bool is_float = kind_of(line.dtype) == Kind::Float;
    if (line.leaf && program.differentiates && is_float) values[i] = values[i].require_grad();
    if (line.reading == Reading::Early) seen.lines[static_cast<int>(i)] = values[i].data();
    // A value without a handle need not be stored.
    for (const int operand : line.in) {
      const auto at = static_cast<std::size_t>(operand);
      const bool kept = program.lines[at].leaf || program.lines[at].reading == Reading::Late;
      if (last_use[at] == i && !kept) values[at] = {};
    }
    if (line.reading != Reading::Late || !values[i].tracked() || !is_float) continue;
    const Value part = mean(square(tanh(cast(values[i], types(DType::F32)))));
    loss = loss ? loss + part : part;
  }
  if (loss) {
    const Gradients gradients = backward(loss);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (program.lines[i].leaf && values[i] && values[i].tracked())
        if (const auto found = gradients.find(values[i])) seen.gradients[static_cast<int>(i)] = found->data();
  }
  for (std::size_t i = 0; i < program.lines.size(); ++i)
    if (program.lines[i].run && program.lines[i].reading == Reading::Late)
      seen.lines[static_cast<int>(i)] = values[i].data();
  device.sync();
  return seen;
}

// ---- errors --------------------------------------------------------------------------------------------------------

constexpr double kFloatRoundings = 3e-6;

/// Of the coarsest float type in the program, as a share of a tensor's norm.
double roundings(const Program& program) {
  double worst = 1e-12;
  for (const Line& line : program.lines) {
    if (!line.run) continue;
    if (line.dtype == DType::BF16) worst = std::max(worst, 2e-2);
    if (line.dtype == DType::F16) worst = std::max(worst, 3e-3);
    if (line.dtype == DType::F32) worst = std::max(worst, kFloatRoundings);
  }
  return worst;
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double each : x) sum += each * each;
  return std::sqrt(sum);
}
double distance(const TensorData& one, const TensorData& other) {
  std::vector<double> x = one.to_vector<double>();
  const std::vector<double> y = other.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return norm(x);
}

/// Bits, but that one NaN is as good as another.
bool same(const TensorData& one, const TensorData& other) {
  if (std::ranges::equal(one.bytes(), other.bytes())) return true;
  const std::vector<double> x = one.to_vector<double>(), y = other.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i])) && !(std::isnan(x[i]) && std::isnan(y[i])))
      return false;
  return one.dtype() != DType::I64;  // whose elements a double may not hold
}

constexpr double kTimes = 6;  // of what the plain kernels are off by

}  // namespace

std::optional<std::string> check(const Program& program, const Device& fused, const Device& plain) {
  try {
    const Device reference = Device::parse("reference");
    const Seen ours = run(program, fused), single = run(program, plain);
    const Seen slow = run(program, reference), exact = run(program, reference, {.exact = true});
    const double share = roundings(program);
    const double gradient_share = std::max(share, kFloatRoundings);  // the loss is of float32
    for (const auto& [i, data] : ours.lines) {
      const Line& line = program.lines[static_cast<std::size_t>(i)];
      const auto wrong = [&](const std::string& how) { return text("v", i, ", ", line.dtype, ' ', line.shape, how); };
      if (data.shape() != line.shape || data.dtype() != line.dtype)
        return wrong(text(": it is ", data.dtype(), ' ', data.shape()));
      if (!same(data, single.lines.at(i)))
        return wrong(text(": fused, it has other bits than one operation at a time: ",
                          difference(data, single.lines.at(i), {0, 0})));
      if (line.decided) continue;
      // Numbers are about 1 in size; what cancels to less is made of roundings of such.
      const double own = distance(slow.lines.at(i), exact.lines.at(i));
      const double size = norm(exact.lines.at(i).to_vector<double>()) + std::sqrt(static_cast<double>(data.numel()));
      const double error = distance(data, exact.lines.at(i));
      if (std::isfinite(own) && !(error <= kTimes * own + share * size))
        return wrong(text(": off by ", error / size, " of its norm, the reference device by ", own / size));
    }
    for (const auto& [i, data] : ours.gradients) {
      if (!same(data, single.gradients.at(i)))
        return text("the gradient of v", i, ": fused, it has other bits than one operation at a time: ",
                    difference(data, single.gradients.at(i), {0, 0}));
      const double size = norm(exact.gradients.at(i).to_vector<double>());
      const double own = distance(slow.gradients.at(i), exact.gradients.at(i));
      const double error = distance(data, slow.gradients.at(i));
      if (std::isfinite(own) && !(error <= kTimes * own + 10 * gradient_share * size + 1e-12))
        return text("the gradient of v", i, ": off by ", error / size, " of its norm, the reference device by ",
                    own / size);
    }
  } catch (const Error& error) { return error.what(); }
  return {};
}

Program shrink(Program program, const Device& fused, const Device& plain) {
  const auto try_without = [&](auto change) {
    Program smaller = program;
    change(smaller);
    if (check(smaller, fused, plain)) program = std::move(smaller);
  };
  for (std::size_t i = program.lines.size(); i-- > 0;) {
    const auto reads = [&](const Line& line) {
      return line.run && std::ranges::find(line.in, static_cast<int>(i)) != line.in.end();
    };
    if (program.lines[i].reading != Reading::Never)
      try_without([&](Program& smaller) { smaller.lines[i].reading = Reading::Never; });
    if (program.lines[i].reading == Reading::Never && std::ranges::none_of(program.lines, reads))
      try_without([&](Program& smaller) { smaller.lines[i].run = nullptr; });
  }
  return program;
}

}  // namespace kiln::plans
