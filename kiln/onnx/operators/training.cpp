// ai.onnx.preview.training: gradients within a graph, and the updates of optimizers.
#include <algorithm>
#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/onnx/operators/broadcast.hpp"

namespace kiln::onnx {
namespace {

// The operands after rate and step: tensors, gradients and states, as many of each.
struct Update {
  Value rate;
  double step;
  Values x, gradient, first, second;
};
Update update_of(const Call& c, int groups) {
  const Values all = c.rest(2);
  c.check(!all.empty() && all.size() % static_cast<std::size_t>(groups) == 0, all.size(), " operands for groups of ",
          groups);
  const auto n = static_cast<std::ptrdiff_t>(all.size()) / groups;
  const auto group = [&](int g) {
    return g < groups ? Values(all.begin() + g * n, all.begin() + (g + 1) * n) : Values();
  };
  return {c[0], c.number(1), group(0), group(1), group(2), group(3)};
}
Results joined_results(const Values& x, const Values& first, const Values& second = {}) {
  std::vector<Datum> out(x.begin(), x.end());
  out.insert(out.end(), first.begin(), first.end());
  out.insert(out.end(), second.begin(), second.end());
  return Results(std::move(out));
}

Results adagrad(Call& c) {
  Update u = update_of(c, 3);
  const Value rate = u.rate / (1 + u.step * c.f("decay_factor", 0));
  for (std::size_t i = 0; i < u.x.size(); ++i) {
    const Value g = u.x[i] * c.f("norm_coefficient", 0) + u.gradient[i];
    u.first[i] = u.first[i] + square(g);
    u.x[i] = of_type(u.x[i] - rate * g / (sqrt(u.first[i]) + c.f("epsilon", 1e-6f)), u.x[i].dtype());
  }
  return joined_results(u.x, u.first);
}

Results adam(Call& c) {
  Update u = update_of(c, 4);
  const double alpha = c.f("alpha", 0.9f), beta = c.f("beta", 0.999f);
  const Value rate =
      u.step > 0 ? u.rate * (std::sqrt(1 - std::pow(beta, u.step)) / (1 - std::pow(alpha, u.step))) : u.rate;
  for (std::size_t i = 0; i < u.x.size(); ++i) {
    const Value g = u.x[i] * c.f("norm_coefficient", 0) + u.gradient[i];
    u.first[i] = u.first[i] * alpha + g * (1 - alpha);
    u.second[i] = u.second[i] * beta + square(g) * (1 - beta);
    const Value next = u.x[i] - rate * u.first[i] / (sqrt(u.second[i]) + c.f("epsilon", 1e-6f));
    u.x[i] = of_type(next * (1 - c.f("norm_coefficient_post", 0)), next.dtype());
  }
  return joined_results(u.x, u.first, u.second);
}

Results momentum(Call& c) {
  Update u = update_of(c, 3);
  const double alpha = c.f("alpha", 0), beta = u.step > 0 ? c.f("beta", 0) : 1;
  const std::string mode = c.word("mode", "standard", {"standard", "nesterov"});
  for (std::size_t i = 0; i < u.x.size(); ++i) {
    const Value g = u.x[i] * c.f("norm_coefficient", 0) + u.gradient[i];
    u.first[i] = u.first[i] * alpha + g * beta;
    u.x[i] = u.x[i] - u.rate * (mode == "nesterov" ? g + u.first[i] * alpha : u.first[i]);
  }
  return joined_results(u.x, u.first);
}

// d y / d xs: the nodes before this one once more, from the xs (and zs) that are given, and back.
Results gradient(Call& c) {
  const Strings xs = c.strings("xs"), zs = c.strings("zs");
  c.check(xs.size() + zs.size() == c.in.size(), xs.size() + zs.size(), " names for ", c.in.size(), " operands");
  const auto number_of = [&](const std::string& name) {
    for (int v = 0; v < std::ssize(c.graph.values); ++v)
      if (c.graph[v].name == name) return v;
    c.wrong("there is no value '", name, "' beside the node");
  };
  Frame frame = c.frame;
  std::set<int> given;
  Values leaves;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const int at = number_of(i < xs.size() ? xs[i] : zs[i - xs.size()]);
    Value value = c.in[i].value().detach();
    if (i < xs.size()) {
      value = to_device(value, c.device().autodiff()).require_grad();
      leaves.push_back(value);
    }
    frame[at] = Datum(value);
    given.insert(at);
  }
  const RunContext context{c.device().autodiff(), c.context.file};
  for (const Node& node : c.graph.nodes) {
    if (&node == &c.node) break;
    const bool is_given =
        std::all_of(node.outputs.begin(), node.outputs.end(), [&](int o) { return o == kAbsent || given.count(o); });
    if (!is_given && node.op != "Gradient") run_node(node, c.graph, frame, context);
  }
  const Value y = frame[number_of(c.s("y", ""))].value();
  const Values slopes = grad(y, leaves);
  std::vector<Datum> out;
  for (const Value& slope : slopes) out.emplace_back(slope.detach());
  return Results(std::move(out));
}

constexpr OperatorRow kTrainingRows[] = {
    {"Adagrad", 1, adagrad},
    {"Adam", 1, adam},
    {"Gradient", 1, gradient, {.rank = ResultRank::OfData, .folds = false}},
    {"Momentum", 1, momentum},
};

}  // namespace

std::span<const OperatorRow> training_rows() { return kTrainingRows; }

}  // namespace kiln::onnx
