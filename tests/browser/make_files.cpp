// make_files FOLDER: files for the tests of JavaScript: a network of pictures as net.onnx and as graph.safetensors, a picture,
// what the network says of it here, and tensors.safetensors.
#include <filesystem>
#include <string>

#include "kiln/core/file.hpp"
#include "kiln/nn.hpp"
#include "kiln/onnx/save.hpp"
#include "kiln/store/graph_file.hpp"
#include "kiln/store/save.hpp"
#include "kiln/tensor/random.hpp"

namespace {

using namespace kiln;

struct Net {
  nn::Conv2d first, second;
  nn::AdaptiveAvgPool2d pool;
  nn::Linear head;

  Tensor<2> forward(const Tensor<4>& x) const {
    return head.forward(pool.forward(second.forward(first.forward(x).relu()).relu()).flatten<1>()).softmax(1);
  }
};

void write(const std::filesystem::path& file, const Value& value) {
  const TensorData data = value.data();
  write_file_atomically(file.string(), data.bytes());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  const Device device = Device::cpu();
  device.seed(1);
  const Net net{nn::Conv2dConfig{.in = 3, .out = 8, .kernel = {3}}.init(device),
                nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}, .stride = {2}}.init(device),
                {.sizes = {2, 2}},
                nn::LinearConfig{.in = 64, .out = 5}.init(device)};
  const Tensor<4> picture = randn({1, 3, 32, 32}, device);
  write(folder / "picture.f32", picture.value());
  write(folder / "expected.f32", net.forward(picture).value());
  onnx::save([&](const Tensor<4>& x) { return net.forward(x); }, picture, (folder / "net.onnx").string());
  save(capture([&](const Tensor<4>& x) { return net.forward(x); }, picture), (folder / "graph.safetensors").string());
  save_tensors(TensorFile{{{"weight", TensorData::of<float>({2, 2}, {1, 2, 3, 4})}}, {{"by", "make_files"}}},
               (folder / "tensors.safetensors").string());
  return 0;
}
