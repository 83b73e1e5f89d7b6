// Goes on with a training of PyTorch's, for exchange/optimizers.py.
//
//   optimizer_steps CONFIG RATE STEPS CHECKPOINT.pt DATA.safetensors MODEL.pt OPTIMIZER.pt
//
// CONFIG is an OptimizerConfig in JSON; the model is an LSTM in both directions and a linear layer, whose outputs at x go down
// to y by their mean square error.
#include <cstdio>
#include <cstdlib>

#include "kiln/core/config/config.hpp"
#include "kiln/nn.hpp"
#include "kiln/optim.hpp"
#include "kiln/store/pytorch_optimizer.hpp"

namespace {

using namespace kiln;

struct Model {
  nn::Lstm lstm;
  nn::Linear head;
};

void go_on(char** arguments) {
  const Device device = Device::cpu().autodiff();
  const TensorFile data = load_tensors(arguments[5]);
  const auto x = Tensor<3>::from_data(data.tensors.at("x"), device.inner()),
             y = Tensor<3>::from_data(data.tensors.at("y"), device.inner());
  const bool bias = open_tensors(arguments[4]).tensors.contains("model.head.bias");
  Model model{nn::LstmConfig{.in = 3, .hidden = 4, .layers = 2, .bidirectional = true, .bias = bias}.init(device),
              nn::LinearConfig{.in = 8, .out = 2, .bias = bias}.init(device)};
  load(model, arguments[4], {.under = "model", .pytorch_layers = true});
  auto optimizer = from_json<OptimizerConfig>(arguments[1], "CONFIG").init(model);
  load_pytorch_optimizer(optimizer, model, arguments[4], {.under = "optimizer", .pytorch_layers = true});
  for (int step = 0; step < std::atoi(arguments[3]); ++step) {
    auto [loss, grads] = value_and_grad(
        model, [&](const Model& m) { return (m.head.forward(m.lstm.forward(x).outputs) - y).square().mean(); });
    model = optimizer.step(std::atof(arguments[2]), std::move(model), grads);
  }
  save(model, arguments[6]);
  // In the order of PyTorch's parameters(): the two directions of a layer side by side.
  std::vector<std::string> params;
  for (int layer = 0; layer < 2; ++layer)
    for (const char* direction : {"layers", "reversed"})
      for (const char* name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
        if (bias || std::string_view(name).starts_with("weight"))
          params.push_back(text("lstm.", direction, '.', layer, '.', name));
  params.emplace_back("head.weight");
  if (bias) params.emplace_back("head.bias");
  save_pytorch_optimizer(optimizer, model, arguments[7], params);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 8) return std::fputs("optimizer_steps CONFIG RATE STEPS CHECKPOINT DATA MODEL OPTIMIZER\n", stderr), 2;
  try {
    go_on(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
