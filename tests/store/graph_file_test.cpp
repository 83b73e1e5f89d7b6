// Captured programs in files.
#include "kiln/store/graph_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "kiln/core/random.hpp"
#include "kiln/nn.hpp"
#include "kiln/store/save.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/custom_wire.hpp"
#include "kiln/tensor/random.hpp"
#include "tests/store/temporary.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

struct Model {
  nn::Conv<2> conv;
  nn::Linear output;
  Tensor<2> forward(const Tensor<4>& x) const { return output.forward(conv.forward(x).relu().flatten<1>()).softmax(1); }
};
Model model(const Device& device) {
  device.seed(5);
  return {nn::ConvConfig<2>{.in = 1, .out = 3, .kernel = {3, 3}}.init(device),
          nn::LinearConfig{.in = 3 * 4 * 4, .out = 5}.init(device)};
}
Tensor<4> images(const Device& device) { return linspace(-1, 1, 2 * 6 * 6, device).reshape(2, 1, 6, 6); }
std::vector<std::byte> bits(const auto& x) {
  const TensorData data = x.data();
  return {data.bytes().begin(), data.bytes().end()};
}

TEST(GraphFile, GivesTheSameBitsAfterwards) {
  const Device device = Device::best();
  const Model captured = model(device);
  const Tensor<4> x = images(device);
  const auto graph = capture([&](const Tensor<4>& in) { return captured.forward(in); }, x);
  const TemporaryFile file("model.safetensors");
  save(graph, file.path, {{"trained on", "nothing"}});

  const auto loaded = load_graph<Tensor<2>(Tensor<4>)>(file.path, device);
  EXPECT_EQ(bits(loaded(x)), bits(graph(x)));
  EXPECT_EQ(bits(loaded(x * 2)), bits(graph(x * 2)));
  EXPECT_EQ(difference(loaded(x).data(), captured.forward(x).data()), "");
  EXPECT_EQ(loaded.text(), graph.text());
  EXPECT_EQ(load_metadata(file.path).at("trained on"), "nothing");
}

TEST(GraphFile, RunsOnAnotherDevice) {
  const Device device = Device::best();
  const Model captured = model(device);
  const TemporaryFile file("model.safetensors");
  save(capture([&](const Tensor<4>& in) { return captured.forward(in); }, images(device)), file.path);
  const Device reference = Device::parse("reference");
  const auto loaded = load_graph<Tensor<2>(Tensor<4>)>(file.path, reference);
  EXPECT_EQ(difference(loaded(images(reference)).data(), captured.forward(images(device)).data()), "");
}

TEST(GraphFile, GivesTheSameBitsInAnotherProcess) {
  const Device device = Device::best();
  const TemporaryFile file("step.safetensors"), given("inputs.safetensors"), answer("results.safetensors");
  // Random numbers, several inputs and results, and numbers of all kinds.
  const auto graph = capture(
      [](const Tensor<2>& x, const Tensor<1, Int>& shift) {
        const Tensor<2> y = dropout(x * 0.3 + uniform_like(x, 0, 1), 0.5);
        return std::tuple(y, y.argmax(1) + shift, y.gt(0.25));
      },
      ones({4, 8}, device), full<Int>({4}, 3, device));
  const Tensor<2> x = linspace(0, 1, 32, device).reshape(4, 8);
  const Tensor<1, Int> shift = full<Int>({4}, 3, device);
  save(graph, file.path);
  TensorFile inputs;
  inputs.tensors = {{"0", x.data()}, {"1", shift.data()}};
  save_tensors(inputs, given.path);
  ASSERT_EQ(std::system(text("'", KILN_REPLAY_GRAPH, "' ", file.path, ' ', given.path, ' ', answer.path).c_str()), 0);

  const TensorFile found = load_tensors(answer.path);
  const auto [y, index, flags] = graph(x, shift);
  for (const auto& [name, expected] :
       {std::pair{"0", y.data()}, std::pair{"1", index.data()}, std::pair{"2", flags.data()}}) {
    EXPECT_EQ(found.tensors.at(name).dtype(), expected.dtype());
    EXPECT_TRUE(std::ranges::equal(found.tensors.at(name).bytes(), expected.bytes())) << "result " << name;
  }
}

TEST(GraphFile, LetsGradientsThroughAgain) {
  const Device device = Device::best().autodiff();
  const auto w = Tensor<2>::of({{2, 0}, {1, 3}}, device).require_grad();
  const auto x = Tensor<2>::of({{1, 2}}, device).require_grad();
  const TemporaryFile file("step.safetensors");
  save(capture([&](const Tensor<2>& in) { return in.matmul(w).softmax(1) * in.detach(); }, x), file.path);
  const auto loaded = load_graph<Tensor<2>(Tensor<2>)>(file.path, device);
  const auto expected = (x.matmul(w).softmax(1) * x.detach()).sum().backward(), found = loaded(x).sum().backward();
  EXPECT_EQ(bits(found.of(x)), bits(expected.of(x)));
  const Tensor<2> weight(loaded.graph().constants()[0]);
  EXPECT_EQ(bits(found.of(weight)), bits(expected.of(w)));
  EXPECT_FALSE(load_graph(file.path, device.inner()).constants()[0].tracked());
}

struct Shift {
  double by = 0;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] + by; }
};

TEST(GraphFile, HoldsOperationsOfTheProgramsOwnIfTheyAreRegistered) {
  const auto x = ones({2}, Device::best());
  const auto graph = capture([](const Tensor<1>& in) { return custom(Shift{2.5}, in); }, x);
  const TemporaryFile file("shift.safetensors");
  EXPECT_NE(sentence_of([&] { save(graph, file.path); }).find("register_custom_op<Shift>"), std::string::npos);
  register_custom_op<Shift>("graph_file_test.shift");
  save(graph, file.path);
  EXPECT_EQ(load_graph<Tensor<1>(Tensor<1>)>(file.path, Device::best())(x).sum().item(), 7);
}

// A tracked pass is one operation, Kiln's own.
TEST(GraphFile, HoldsRecurrentLayersWithTheirGradients) {
  const Device device = Device::best().autodiff();
  const nn::Lstm lstm = nn::LstmConfig{.in = 3, .hidden = 4}.init(device);
  const Tensor<3> x = linspace(-1, 1, 2 * 5 * 3, device).reshape(2, 5, 3).require_grad();
  const TemporaryFile file("lstm.safetensors");
  const auto graph = capture([&](const Tensor<3>& in) { return lstm.forward(in).outputs; }, x);
  EXPECT_NE(graph.text().find("recurrent_layer("), std::string::npos);
  save(graph, file.path);
  const auto loaded = load_graph<Tensor<3>(Tensor<3>)>(file.path, device);
  EXPECT_EQ(bits(loaded(x)), bits(graph(x)));
  EXPECT_EQ(bits(loaded(x).square().sum().backward().of(x)), bits(graph(x).square().sum().backward().of(x)));
}

TEST(GraphFile, SaysWhatDoesNotFit) {
  const Device device = Device::best();
  const TemporaryFile file("a.safetensors");
  const auto said = [&](auto&& load) {
    const std::string sentence = sentence_of(load);
    const std::size_t at = sentence.find(file.path);
    return at == std::string::npos ? sentence : sentence.substr(0, at) + "a" + sentence.substr(at + file.path.size());
  };
  const Tensor<2> x = ones({2, 3}, device);
  save(capture([&](const Tensor<2>& in) { return in + x; }, x), file.path);
  EXPECT_EQ(said([&] { load_graph<Tensor<2>(Tensor<1>)>(file.path, device); }),
            "LoadError: a: the program takes float32 [2, 3] as input 0, not a Tensor<1>");
  EXPECT_EQ(said([&] { load_graph<Tensor<2, Int>(Tensor<2>)>(file.path, device); }),
            "LoadError: a: the program gives float32 [2, 3] as result 0, not a Tensor<2, Int>");
  EXPECT_EQ(said([&] { load_graph<Tensor<2>()>(file.path, device); }),
            "LoadError: a: the program takes 1 tensors, not 0");
  EXPECT_EQ(said([&] { load_graph(file.path, Device()); }), "DeviceError: a: no device was given");

  TensorFile record = load_tensors(file.path);
  record.tensors.emplace("more", TensorData({2}, DType::F32));
  save_tensors(record, file.path);
  EXPECT_EQ(said([&] { load_graph(file.path, device); }),
            "DataError: a: 1 of its tensors belong to no part of the program");
  record.tensors.erase("more");
  record.tensors.at("constant.0") = TensorData({3, 2}, DType::F32);
  save_tensors(record, file.path);
  EXPECT_EQ(said([&] { load_graph(file.path, device); }),
            "DataError: a: 'constant.0' is float32 [3, 2], the program expects float32 [2, 3]");
  record.tensors.erase("constant.0");
  save_tensors(record, file.path);
  EXPECT_EQ(said([&] { load_graph(file.path, device); }), "DataError: a: 'constant.0' is missing");
  record.tensors.erase("program");
  save_tensors(record, file.path);
  EXPECT_EQ(
      said([&] { load_graph(file.path, device); }),
      "LoadError: a: it holds tensors, but no captured program: save(capture(...), file) writes one; load() reads "
      "weights into a model");
}

TEST(GraphFile, DamagedOnesAreReadOrRefused) {
  const Device device = Device::best();
  const Model captured = model(device);
  const auto sound = write_safetensors(
      record_of(capture([&](const Tensor<4>& in) { return captured.forward(in); }, images(device)).graph()));
  Random random(7);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    auto bytes = sound;
    const auto at = static_cast<std::size_t>(random.below(std::ssize(bytes)));
    if (round % 3 == 0) bytes.resize(at);
    else bytes[at] ^= std::byte(1u << random.below(8));
    bytes.shrink_to_fit();
    try {
      graph_from_record(view_safetensors(bytes, "damaged"), "damaged", device);
    } catch (const Error& error) {
      ASSERT_NE(std::string_view(error.what()).find("damaged"), std::string_view::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace kiln
