// Writes the networks of `./dev bench wasm` as ONNX files: bench_wasm_networks FOLDER.
#include <cstdio>

#include "examples/guide/model.hpp"
#include "kiln/nn.hpp"
#include "kiln/onnx/save.hpp"
#include "models/mobilenet_v2.hpp"

namespace {

using namespace kiln;

template <class Model, int D>
void write(const Model& model, const Tensor<D>& example, const std::string& path) {
  onnx::save([&](const Tensor<D>& x) { return model.forward(x); }, example, path, {.opset = 17});
  std::printf("%s\n", path.c_str());
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "bench_wasm_networks FOLDER\n");
    return 2;
  }
  const std::string folder = std::string(words[1]) + "/";
  const Device device = Device::cpu();
  device.seed(1);
  const guide::Model guide = valid(guide::ModelConfig{}.init(device));
  write(guide, rand({1, 28, 28}, device), folder + "guide_1.onnx");
  write(guide, rand({64, 28, 28}, device), folder + "guide_64.onnx");
  write(valid(models::MobileNetV2Config{}.init(device)), rand({1, 3, 224, 224}, device),
        folder + "mobilenet_v2_1.onnx");
}
