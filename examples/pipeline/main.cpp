// A model over two servers: each keeps the weights of half of the layers, and activations go from one to the other without
// passing this program. While the second works on a batch, the first is at the next.
//
//   pipeline [HOST:PORT HOST:PORT]    without addresses it runs both servers itself
#include <kiln/kiln.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "kiln/backend/remote/hosting.hpp"
#include "kiln/core/config/arguments.hpp"

using namespace kiln;

namespace {

struct Stage {
  std::vector<nn::Linear> layers;
  Tensor<2> forward(Tensor<2> x) const {
    for (const nn::Linear& layer : layers) x = layer.forward(x).relu();
    return x;
  }
};

Stage stage_of(const Device& device, int layers, std::uint64_t seed) {
  device.seed(seed);
  Stage stage;
  for (int i = 0; i < layers; ++i) stage.layers.push_back(nn::LinearConfig{.in = 64, .out = 64}.init(device));
  return stage;
}

constexpr std::string_view kHelp =
    R"(A model over two servers: each keeps the weights of half of the layers, and activations go from one to the other without
passing this program. While the second works on a batch, the first is at the next.

  pipeline [HOST:PORT HOST:PORT]    without addresses it runs both servers itself)";

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = kiln::answered(argc, argv, kHelp, 2)) return *status;
  try {
    std::vector<std::unique_ptr<Hosting>> own;
    std::vector<std::string> addresses(argv + 1, argv + argc);
    while (addresses.size() < 2) {
      own.push_back(host(Device::cpu(), {.port = 0, .sends_to_servers = true}));
      addresses.push_back(text("127.0.0.1:", own.back()->port()));
    }
    const Device first = Device::parse("remote:" + addresses[0]), second = Device::parse("remote:" + addresses[1]);
    const Stage lower = stage_of(first, 4, 1), upper = stage_of(second, 4, 2);
    const Stage lower_here = stage_of(Device::cpu(), 4, 1), upper_here = stage_of(Device::cpu(), 4, 2);

    std::vector<Tensor<2>> results;
    for (int batch = 0; batch < 4; ++batch)
      results.push_back(upper.forward(lower.forward(full({8, 64}, 0.1 * batch, first)).to_device(second)));
    int equal = 0;
    for (int batch = 0; batch < 4; ++batch) {
      const Tensor<2> here = upper_here.forward(lower_here.forward(full({8, 64}, 0.1 * batch, Device::cpu())));
      equal += results[static_cast<std::size_t>(batch)].to_vector() == here.to_vector();
    }
    std::printf("%d of 4 batches are what one device computes\n", equal);
    return equal == 4 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
