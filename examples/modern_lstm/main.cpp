// An LSTM made of other layers, with what has been added to it since 1997: layer normalisation of gates and cells (Ba,
// Kiros, Hinton, 2016), a forget gate that begins open (Jozefowicz, Zaremba, Sutskever, 2015), dropout between layers,
// and a skip around each layer but the first. It learns to continue noisy sums: each number is that of the two before
// it, scaled.
//
//   modern_lstm [--steps N] [--layers N] [--hidden N] ...; --help lists all
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include <vector>

#include "kiln/core/config/arguments.hpp"

using namespace kiln;

namespace {

struct Run {
  std::int64_t layers = 2, hidden = 32, length = 10, batch = 64, steps = 300;
  double dropout = 0.1, rate = 5e-3, noise = 0.02;
  std::uint64_t seed = 1;
};

/// The state of one layer: the hidden and the cell's numbers, each [batch, hidden].
struct State {
  Tensor<2> hidden, cell;
};

struct Cell {
  // One layer makes all four gates. The input has a bias: without one, normalisation would leave of a number its sign.
  nn::Linear input, recurrent;
  nn::LayerNorm of_input, of_recurrent, of_cell;

  State forward(const Tensor<2>& x, const State& before) const {
    const Tensor<2> gates = of_input.forward(input.forward(x)) + of_recurrent.forward(recurrent.forward(before.hidden));
    const std::vector<Tensor<2>> parts = gates.chunk(4, 1);
    const Tensor<2> candidate = parts[2].tanh();
    const Tensor<2> cell = (parts[1] + 1).sigmoid() * before.cell + parts[0].sigmoid() * candidate;
    return {parts[3].sigmoid() * of_cell.forward(cell).tanh(), cell};
  }
};

struct ModernLstm {
  std::vector<Cell> cells;
  nn::Dropout dropout;
  nn::Linear output;

  /// x [batch, time, 1] -> [batch, 1]: the number that comes next.
  Tensor<2> forward(const Tensor<3>& x) const {
    std::vector<Tensor<2>> sequence;
    for (std::int64_t t = 0; t < x.dim(1); ++t) sequence.push_back(Tensor<2>(Typed{at(x.value(), 1, t)}));
    for (std::size_t layer = 0; layer < cells.size(); ++layer) {
      const Tensor<2> none = zeros({x.dim(0), output.weight.dim(1)}, x.device());
      State state{none, none};
      for (Tensor<2>& step : sequence) {
        state = cells[layer].forward(step, state);
        step = layer == 0 ? state.hidden : dropout.forward(state.hidden) + step;
      }
    }
    return output.forward(sequence.back());
  }
};

ModernLstm make(const Run& run, const Device& device) {
  ModernLstm model{.cells = {},
                   .dropout = {.probability = run.dropout},
                   .output = nn::LinearConfig{.in = run.hidden, .out = 1}.init(device)};
  for (std::int64_t layer = 0; layer < run.layers; ++layer) {
    const nn::LayerNormConfig of_gates{.size = 4 * run.hidden};
    model.cells.push_back(
        {.input = nn::LinearConfig{.in = layer == 0 ? 1 : run.hidden, .out = 4 * run.hidden}.init(device),
         .recurrent = nn::LinearConfig{.in = run.hidden, .out = 4 * run.hidden, .bias = false}.init(device),
         .of_input = of_gates.init(device),
         .of_recurrent = of_gates.init(device),
         .of_cell = nn::LayerNormConfig{.size = run.hidden}.init(device)});
  }
  return model;
}

/// Sequences [batch, length, 1], and the number after each, [batch, 1].
struct Sequences {
  Tensor<3> seen;
  Tensor<2> next;
};
Sequences sums(const Run& run, const Device& device) {
  std::vector<Tensor<2>> numbers{rand({run.batch, 1}, device), rand({run.batch, 1}, device)};
  while (static_cast<std::int64_t>(numbers.size()) <= run.length)
    numbers.push_back((numbers[numbers.size() - 2] + numbers.back()) * 0.55);
  const Tensor<2> next = numbers.back();
  numbers.pop_back();
  const Tensor<3> seen = stack(numbers, 1);
  return {seen + randn_like(seen) * run.noise, next};
}

void learn(const Run& run) {
  require<ArgumentError>(run.layers >= 1 && run.length >= 2 && run.steps >= 1,
                         "--layers and --steps must be at least 1, --length 2");
  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  ModernLstm model = make(run, device);
  Adam adam = AdamConfig{}.init(model);
  const auto error = [&](const ModernLstm& m, const Sequences& data) {
    return (m.forward(data.seen) - data.next).square().mean();
  };
  print("{} parameters in {} layers\n", num_params(model), run.layers);
  for (std::int64_t step = 1; step <= run.steps; ++step) {
    const Sequences data = sums(run, device);
    auto [loss, grads] = value_and_grad(model, [&](const ModernLstm& m) { return error(m, data); });
    model = adam.step(run.rate, std::move(model), grads);
    if (step % 100 == 0 || step == run.steps) print("step {}: error {:.5f}\n", step, loss.item<double>());
  }
  const NoGrad pause;
  const Sequences test = sums(run, device);
  const double last =
      (test.next - Tensor<2>(Typed{at(test.seen.value(), 1, run.length - 1)})).square().mean().item<double>();
  print("test: error {:.5f}; of the last number again: {:.5f}\n", error(valid(model), test).item<double>(), last);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn); }
