// Writes the files of this folder, by the version of Kiln that it is compiled with: write DIRECTORY. It is no part of the
// build; compile it in a checkout of that version, and never with the present one over the files that are there.
#include <cstdio>

#include "kiln/core/file.hpp"
#include "program.hpp"

using namespace kiln;

int main(int, char** arguments) {
  const std::filesystem::path folder = arguments[1];
  const Device device = Device::cpu();
  test::Net model = test::trained(folder / "training", 1);
  for (const char* name : {"model.safetensors", "model.pt", "model.npz", "model.gguf", "model.kiln"})
    save(model, (folder / name).string());
  save_record(model, (folder / "record.kiln").string());

  model = test::net(device.autodiff());
  load_record(model, (folder / "record.kiln").string());
  AdamW adam = AdamWConfig{}.init(model);
  const auto step = [&] {
    auto [loss, grads] = value_and_grad(model, test::size_of);
    return adam.step(0.01, model, grads);
  };
  for (int i = 0; i < 3; ++i) (void)step();
  save_record(adam, (folder / "optimizer.kiln").string());
  const test::Net stepped = step();

  const test::Net ready = still(model);
  const auto graph = capture([&](const Tensor<4>& x, const Tensor<2>& table) { return test::program(ready, x, table); },
                             test::pictures(device), test::table(device));
  save(graph, (folder / "graph.safetensors").string());

  TensorFile expected;
  const auto [scores, products, best] = test::program(ready, test::pictures(device), test::table(device));
  expected.tensors = {{"scores", scores.data()}, {"products", products.data()}, {"best", best.data()}};
  const std::filesystem::path whole = folder / "whole";
  const test::Net trained = test::trained(whole, 3);
  std::filesystem::remove_all(whole);
  for (const auto& [name, data] : record_of(trained).tensors) expected.tensors.emplace("trained." + name, data);
  for (const auto& [name, data] : record_of(stepped).tensors) expected.tensors.emplace("stepped." + name, data);
  save_tensors(expected, (folder / "expected.safetensors").string());

  Json::Object configs;
  test::each_config([&](const char* name, const auto& config) { configs.emplace_back(name, to_json(config)); });
  write_file_atomically((folder / "configs.json").string(), std::string_view(write_json(Json{configs})));
}
