// A network from an .onnx file looks at digits that it never saw: how many it gets right, and how many a second.
//
//   onnx_inference [--model mnist.onnx] [--data mnist] [--batch 250]
#include <chrono>
#include <filesystem>

#include "examples/guide/source.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/kiln.hpp"
#include "kiln/onnx/model.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string model = "mnist.onnx";
  std::string data = "digits";  // or mnist, or a directory with MNIST's files
  std::int64_t batch = 250;
};

void infer(const Run& run) {
  require<IoError>(std::filesystem::exists(run.model), "there is no ", run.model,
                   ": name a network by --model; the example onnx-inference of Burn has such an mnist.onnx");
  const guide::Source source = guide::open_source(run.data);
  // The file was made with one image; its nodes take any number.
  const onnx::Model model = onnx::load(run.model, Device::best(), {.free_batch = true});
  std::int64_t right = 0;
  double seconds = 0;
  for (ImageBatch& host :
       DataLoader(source.test, ImageBatcher::normalized(), {.batch_size = run.batch, .workers = 1})) {
    const auto [images, targets] = to_tensors(std::move(host), model.device());
    const auto start = std::chrono::steady_clock::now();
    const Tensor<2> scores(model.run({onnx::Datum(images.unsqueeze(1))})[0].value());
    right += scores.argmax(1).eq(targets).to_int().sum().item();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  const auto count = static_cast<double>(source.test->size());
  print("{}: {:.2f} % of {} right, {:.0f} a second\n", source.name, 100 * static_cast<double>(right) / count,
        source.test->size(), count / seconds);
}

const Help kHelp{
    R"(A network from an .onnx file looks at digits that it never saw: how many it gets right, and how many a second.

  onnx_inference [--model mnist.onnx] [--data mnist] [--batch 250]

It needs mnist.onnx, which the example onnx-inference of Burn has.)",
    {{"model", "the network, an .onnx file"},
     {"data", "digits (drawn by Kiln), mnist (downloaded), or a directory with MNIST's files"},
     {"batch", "pictures that are looked at together"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, infer, kHelp); }
