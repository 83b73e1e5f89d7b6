// Weights that a PyTorch program has saved (train.py), in a model of Kiln: the network is written once more as a
// struct, and load() finds its tensors by name, says what does not fit, and converts nothing else. The same call reads
// safetensors and GGUF files.
//
//   import_weights [--file spirals.pt] [--save model.safetensors]; --help lists all
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include <cmath>
#include <filesystem>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "kiln/core/config/arguments.hpp"

using namespace kiln;

namespace {

struct Run {
  std::string file = "examples/import_weights/spirals.pt";
  std::optional<std::string> save = {};  // where the model is saved under Kiln's names
};

/// Has the tensors of train.py's Classifier: its `body` is a list there, of which the activations have no tensors.
struct Classifier {
  nn::Linear first, second;
  nn::LayerNorm norm;
  nn::Linear head;

  Tensor<2> forward(const Tensor<2>& x) const {
    return head.forward(norm.forward(second.forward(first.forward(x).tanh())).tanh());
  }
};

/// The points of train.py, [300, 2], and the arm of the spiral that each belongs to.
struct Spirals {
  std::vector<float> points;
  std::vector<std::int64_t> arms;
  Spirals() {
    constexpr int kCount = 100;
    for (int arm = 0; arm < 3; ++arm) {
      for (int i = 0; i < kCount; ++i) {
        const double radius = (i + 1.0) / kCount;
        const double angle = 4 * radius + arm * 2 * std::numbers::pi / 3 + 0.25 * std::sin(37 * i + arm);
        points.push_back(static_cast<float>(radius * std::cos(angle)));
        points.push_back(static_cast<float>(radius * std::sin(angle)));
        arms.push_back(arm);
      }
    }
  }
};

void import_weights(const Run& run) {
  require<IoError>(std::filesystem::exists(run.file), "there is no ", run.file,
                   ": name it by --file; train.py, beside this program's source, writes one");
  const Device device = Device::best();
  Classifier model{.first = nn::LinearConfig{.in = 2, .out = 32}.init(device),
                   .second = nn::LinearConfig{.in = 32, .out = 32}.init(device),
                   .norm = nn::LayerNormConfig{.size = 32}.init(device),
                   .head = nn::LinearConfig{.in = 32, .out = 3}.init(device)};
  const LoadReport report =
      load(model, run.file,
           {.under = "state_dict",
            .rename = {{R"(^body\.0\.)", "first."}, {R"(^body\.2\.)", "second."}, {R"(^body\.3\.)", "norm."}}});
  print("{}\n", text(report));

  const Spirals spirals;
  const Tensor<2> points = Tensor<2>::of(spirals.points, {300, 2}, device);
  const Tensor<1, Int> arms = Tensor<1, Int>::of(spirals.arms, device);
  const double right = model.forward(points).argmax(1).eq(arms).to_float().mean().item();
  print("right about {:.1f} % of the points\n", 100 * right);
  print("scores of (0.3, -0.5): {:.4f}\n", model.forward(Tensor<2>::of({{0.3, -0.5}}, device)));
  if (run.save) save(model, *run.save);
}

const Help kHelp{
    R"(Weights that a PyTorch program has saved (train.py), in a model of Kiln: the network is written once more as a
struct, and load() finds its tensors by name, says what does not fit, and converts nothing else. The same call reads
safetensors and GGUF files.

  import_weights [--file spirals.pt] [--save model.safetensors])",
    {{"file", "weights that train.py has saved with PyTorch"},
     {"save", "where the model is saved under Kiln's names"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, import_weights, kHelp); }
