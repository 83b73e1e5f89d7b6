// A network of ImageNet, or any other that takes pictures, from an .onnx file says what is on one.
//
//   image_classification --model squeezenet.onnx --labels labels.txt --picture cat.jpg [--top 5]
//
// export.py beside this file writes SqueezeNet and its labels with torchvision, where Python has it.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>

#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/picture/geometry.hpp"
#include "kiln/kiln.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/picture/decode.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string model = "squeezenet.onnx", labels = "labels.txt";  // a line for each class
  std::string picture = "cat.jpg";
  std::int64_t side = 224;  // of the square that is looked at, where the model does not say
  int top = 5;
};

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines(1);
  for (const char letter : read_text_file(file)) {
    if (letter == '\n') lines.emplace_back();
    else lines.back() += letter;
  }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

/// What the model says of its input's last dimension, or `otherwise`.
std::int64_t side_of(const onnx::Model& model, std::int64_t otherwise) {
  const auto shape = model.inputs().at(0).type.shape;
  return shape && shape->size() == 4 ? shape->back().value.value_or(otherwise) : otherwise;
}

/// The middle of the picture, as ImageNet's pictures are shown to networks: [1, 3, side, side].
Value seen(const std::string& file, std::int64_t side, const Device& device) {
  const Picture whole = resized_to(read_picture(file), side * 8 / 7);
  const LabelledPicture middle{centre_crop(whole, side, side)};
  return from_data(PictureBatcher::image_net()(std::span(&middle, 1)).images, device);
}

void classify(const Run& run) {
  require<IoError>(std::filesystem::exists(run.model), "there is no ", run.model,
                   ": name it by --model; where Python has torchvision, examples/image_classification/export.py writes "
                   "one, and its labels");
  require<IoError>(std::filesystem::exists(run.labels), "there is no ", run.labels,
                   ": name it by --labels, or write it by examples/image_classification/export.py");
  require<IoError>(std::filesystem::exists(run.picture), "there is no ", run.picture, ": name it by --picture");
  const onnx::Model model = onnx::load(run.model, Device::best(), {.free_batch = true});
  const std::vector<std::string> labels = lines_of(run.labels);
  const Value picture = seen(run.picture, side_of(model, run.side), model.device());
  const auto start = std::chrono::steady_clock::now();
  const Tensor<2> scores(model.run({onnx::Datum(picture)})[0].value());
  const std::vector<float> chances = softmax(scores, 1).data().to_vector<float>();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  require<ArgumentError>(chances.size() == labels.size(), run.labels, " has ", labels.size(), " lines, but the model ",
                         chances.size(), " classes");
  std::vector<std::size_t> order(chances.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return chances[i]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::max(run.top, 0))));
  for (const std::size_t i : order) print("{:6.2f} %  {}\n", 100 * chances[i], labels[i]);
  print("{} in {:.1f} ms\n", run.picture, 1e3 * seconds);
}

const Help kHelp{
    R"(A network of ImageNet, or any other that takes pictures, from an .onnx file says what is on one.

  image_classification --model squeezenet.onnx --labels labels.txt --picture cat.jpg [--top 5]

It needs a network, its labels and a picture. Where Python has torchvision, this writes SqueezeNet and its labels:
  python3 examples/image_classification/export.py)",
    {{"model", "the network, an .onnx file"},
     {"labels", "a text file with a line for each class"},
     {"picture", "the PNG or JPEG file that is looked at"},
     {"side", "pixels of a side of the square that is looked at, where the model does not say"},
     {"top", "classes that are printed"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, classify, kHelp); }
