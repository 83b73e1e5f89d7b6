// What bench/compile_time.py compiles: a user's file that calls some thirty tensor functions.
#include "kiln/kiln.hpp"

using namespace kiln;

Tensor<2> body(const Tensor<2>& x, const Tensor<2>& weight, const Tensor<1>& bias, const Tensor<1, Int>& index) {
  auto h = x.matmul(weight) + bias;
  h = h.relu() * 0.5 - h.tanh() / 2.0;
  h = (h - h.mean(keep, 1)) / (h.var(1).unsqueeze(1) + 1e-5).sqrt();
  const auto [values, places] = h.topk(3, -1);
  const auto both = cat({h.exp(), h.log1p()}, 1).transpose();
  const auto part = both.reshape(-1, 2).flip(0).narrow(0, 0, 4);
  const auto mixed = part.softmax(1) * part.sigmoid() + part.gelu().clamp(-1, 1);
  const auto chosen = where(mixed > 0.1, mixed, mixed.neg());
  const auto folded = chosen.select(0, index).sum(keep, 0) + chosen.max(keep, 0) - chosen.min(keep, 0);
  auto result = stack({folded, folded.abs()}, 0).squeeze(1).permute(1, 0);
  result += result.sin().cos().square();
  return result.expand(2, 2) + values.gather(1, places).mean() + h(0, s(1, end)).sum();
}

int main() {
  const Device device = Device::best().autodiff();
  const auto x = randn({4, 6}, device), weight = randn({6, 6}, device);
  print("{}\n", body(x, weight, zeros({6}, device), arange(4, device)));
}
