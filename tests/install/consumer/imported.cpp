// Models that the build made of .onnx files: one of two layers, and one whose every name wants to be code.
#include <hostile.hpp>
#include <kiln/optim.hpp>
#include <kiln/tensor/text/print.hpp>
#include <small.hpp>

int main() {
  using namespace kiln;
  const Device device = Device::best().autodiff();
  small::Small model = small::load_small(SMALL_WEIGHTS, device);
  const auto x = Tensor<2>::of({{1, 1}}, device);
  print("{} ", model.forward(x).sum().item());  // relu([1, 1] [[1, 3], [2, 4]] + [0.5, -20])
  auto optimizer = SgdConfig{}.init(model);
  for (int i = 0; i < 2; ++i) {
    auto [loss, gradients] = value_and_grad(model, [&](const small::Small& m) { return m.forward(x).square().sum(); });
    model = optimizer.step(0.01, std::move(model), gradients);
  }
  print("{} ", model.forward(x).sum().item() < 3.5F);
  const auto [y, words] = hostile::load_hostile(HOSTILE_WEIGHTS, device)
                              .forward(Tensor<1>::of({1, 2}, device), Tensor<0, Bool>::full({}, true, device));
  print("{} {}\n", Tensor<1>(y.value()).sum().item(), words.strings()[1].size());  // -((x + [1, 2]) 2 + 3)
}
