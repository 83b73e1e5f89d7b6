// Trains the network that the page reads with, and writes it in float16:
//
//   web_digits_weights --data DIR --epochs 8 --output examples/web/digits/digits.safetensors
#include <array>

#include "examples/guide/source.hpp"
#include "examples/web/digits/drawing.hpp"
#include "examples/web/digits/reader.hpp"
#include "examples/web/digits/training.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string data = "mnist", output = "digits.safetensors";
  std::int64_t epochs = 8, hidden_size = 64;
  double dropout = 0.3;
};

/// Digits as the page shows them to the network.
DatasetPtr<Image> as_drawn(DatasetPtr<Image> digits) {
  return mapped(std::move(digits), [](const Image& image) {
    Image drawn =
        digits::centred(TensorData::of<float>({image.height, image.width}, std::span<const float>(image.pixels)));
    drawn.label = image.label;
    return drawn;
  });
}

void make(const Run& run) {
  const guide::Source source = guide::open_source(run.data);
  digits::Training training(as_drawn(source.train), as_drawn(source.test),
                            {.epochs = run.epochs, .hidden_size = run.hidden_size, .dropout = run.dropout},
                            Device::best());
  while (training.run(500, [](const digits::Progress&) { return true; }))
    print("{:.2f} %\n", 100 * training.test_accuracy(2000));
  const auto file = digits::file_of(training.model());
  write_file_atomically(run.output, file);
  print("{}: {} bytes, {:.2f} % of the test digits\n", run.output, file.size(),
        100 * training.test_accuracy(source.test->size()));
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, make); }
