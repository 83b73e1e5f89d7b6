// A network from an .onnx file, which tells ten digits apart, learns to tell even from odd: its last layers make room for
// a head of our own, which is trained alone first, then together with the rest. The result is an .onnx file again.
//
//   onnx_training [--model mnist.onnx] [--features /Relu_3_output_0] [--data mnist] [--to parity.onnx]
#include <filesystem>

#include "examples/guide/source.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/kiln.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/onnx/save.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string model = "mnist.onnx";
  std::string features = "/Relu_3_output_0";  // the value that the head reads
  std::int64_t width = 32;                    // of the features
  std::string data = "digits";
  std::string to = "parity.onnx";
  std::int64_t steps = 200, batch = 64;  // of each of the two trainings
  double rate = 1e-3;
};

struct Parity {
  onnx::Model body;
  nn::Linear head;

  Tensor<2> forward(const Tensor<4>& images) const {
    return head.forward(Tensor<2>(body.run({onnx::Datum(images)})[0].value()));
  }
};

Tensor<1, Int> parity_of(const Tensor<1, Int>& digits) { return digits.remainder(2); }

/// `scores` gives those of images [batch, 1, height, width].
template <class F>
double accuracy(const F& scores, const DatasetPtr<Image>& test, const Device& device) {
  const NoGrad pause;
  std::int64_t right = 0;
  for (ImageBatch& host : DataLoader(test, ImageBatcher::normalized(), {.batch_size = 250, .workers = 1})) {
    const auto [images, digits] = to_tensors(std::move(host), device);
    right += scores(images.unsqueeze(1)).argmax(1).eq(parity_of(digits)).to_int().sum().item();
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(test->size());
}

Parity trained(Parity model, const Run& run, const guide::Source& source, const Device& device) {
  AdamW adam = AdamWConfig{}.init(model);
  DataLoader loader(source.train, ImageBatcher::normalized(),
                    {.batch_size = run.batch, .shuffle = true, .seed = 1, .workers = 1, .drop_last = true});
  std::int64_t step = 0;
  for (ImageBatch& host : loader) {
    if (step++ == run.steps) break;
    const auto batch = to_tensors(std::move(host), device);
    auto [loss, grads] = value_and_grad(model, [&](const Parity& m) {
      return cross_entropy(m.forward(batch.images.unsqueeze(1)), parity_of(batch.targets));
    });
    model = adam.step(run.rate, std::move(model), grads);
  }
  return model;
}

void learn(const Run& run) {
  require<IoError>(std::filesystem::exists(run.model), "there is no ", run.model,
                   ": name a network by --model; the example onnx-inference of Burn has such an mnist.onnx");
  const guide::Source source = guide::open_source(run.data);
  const Device device = Device::best().autodiff();
  device.seed(1);
  Parity model{onnx::load(run.model, device, {.outputs = {run.features}, .free_batch = true}),
               nn::LinearConfig{.in = run.width, .out = 2}.init(device)};
  const auto report = [&](std::string_view what, const auto& scores) {
    print("{}: {:.2f} % right\n", what, accuracy(scores, source.test, device));
  };
  const auto scores = [&](const Tensor<4>& images) { return model.forward(images); };
  report("with a head that has learnt nothing", scores);
  model = trained(freeze(std::move(model), !Selector("head")), run, source, device);
  report("with a head that has learnt", scores);
  model = trained(unfreeze(std::move(model)), run, source, device);
  report("all of it", scores);
  onnx::save(model, Tensor<4>(ones({2, 1, 28, 28}, device)), run.to,
             {.inputs = {"images"}, .outputs = {"scores"}, .free = {{"batch", 0, 0}}});
  const onnx::Model written = onnx::load(run.to, device);
  report(run.to, [&](const Tensor<4>& images) { return Tensor<2>(written.run({onnx::Datum(images)})[0].value()); });
}

const Help kHelp{
    R"(A network from an .onnx file, which tells ten digits apart, learns to tell even from odd: its last layers make room for
a head of our own, which is trained alone first, then together with the rest. The result is an .onnx file again.

  onnx_training [--model mnist.onnx] [--features /Relu_3_output_0] [--data mnist] [--to parity.onnx]

It needs mnist.onnx, which the example onnx-inference of Burn has.)",
    {{"model", "the network, an .onnx file"},
     {"features", "the value that the head reads"},
     {"width", "how many values the features have"},
     {"data", "digits (drawn by Kiln), mnist (downloaded), or a directory with MNIST's files"},
     {"to", "the .onnx file that is written"},
     {"steps", "steps of training"},
     {"batch", "items in a step"},
     {"rate", "the learning rate, at its highest"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn, kHelp); }
