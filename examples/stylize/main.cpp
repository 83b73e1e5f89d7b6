// A picture is painted in the style of another: its pixels go down the perceptual loss of a VGG-19 until its layers see the
// content of the one and the style of the other.
//
//   stylize --content photograph.jpg --style painting.jpg --weights vgg19.pth [--side N] [--steps N] [--picture FILE.png] ...
//
// Without --weights, torchvision's, the network is drawn at random: textures are those of the style, what things are it does not
// know. Without pictures it draws some. --help lists all.
#include <cmath>
#include <cstdio>
#include <optional>

#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/picture/geometry.hpp"
#include "kiln/data/png.hpp"
#include "kiln/kiln.hpp"
#include "kiln/picture/decode.hpp"
#include "kiln/vision/display.hpp"
#include "models/perceptual.hpp"
#include "models/torchvision.hpp"

namespace {

using namespace kiln;

struct Run {
  std::optional<std::string> content = {}, style = {};  // PNG or JPEG files; none: a disc, and slanting stripes
  std::optional<std::string> weights = {};              // of torchvision's vgg19; none: drawn at random
  std::int64_t side = 160;                              // pixels of the content's shorter side
  std::int64_t width = 64;                              // of the network's first stage
  std::int64_t steps = 150;
  double rate = 0.03;
  double strength = 1000;   // of the style, beside the content
  double smoothness = 0.1;  // what neighbouring pixels may not differ by
  std::uint64_t seed = 1;
  std::string picture = "stylize.png";
};

/// The painting that is learned, by numbers from 0 to 1.
struct Painting {
  nn::Param<4> pixels;  // [1, 3, height, width]
};

Picture drawn(std::int64_t side, bool striped) {
  Picture picture = blank(side, side, 3);
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x) {
      const double half = static_cast<double>(side) / 2, down = static_cast<double>(y), right = static_cast<double>(x);
      const bool inside = striped ? (x + 2 * y) / 8 % 2 == 0 : std::hypot(down - half, right - half) < half * 0.6;
      const std::uint8_t light = striped ? 255 : 90;
      for (int channel = 0; channel < 3; ++channel)
        picture.at(y, x)[channel] = inside ? static_cast<std::uint8_t>(240 - 70 * channel * (striped ? 1 : 0)) : light;
    }
  return picture;
}

Tensor<4> pixels_of(const std::optional<std::string>& file, bool striped, std::int64_t side, const Device& device) {
  const Picture picture = file ? resized_to(read_picture(*file), side) : drawn(side, striped);
  return Tensor<4>::from_data(PictureBatcher{}(std::vector{LabelledPicture{picture}}).images, device);
}

/// So that signals neither grow nor fade from layer to layer.
models::VggFeatures drawn_at_random(models::VggFeatures network, const Device& device) {
  return map_params(std::move(network), [&](const std::string&, const Value& value) {
    if (value.shape().size() == 1) return zeros_like(value);
    return nn::initialize(nn::init::KaimingNormal{}, value.shape(), nn::fans_of(value.shape()), device);
  });
}

/// The mean squared difference of neighbours (Mahendran, Vedaldi, "Understanding deep image representations by inverting
/// them", 2015).
Tensor<0> roughness(const Tensor<4>& x) {
  const auto rest = [&](int dim, std::int64_t begin) { return x.narrow(dim, begin, x.dim(dim) - 1); };
  return (rest(2, 1) - rest(2, 0)).square().mean() + (rest(3, 1) - rest(3, 0)).square().mean();
}

void paint(const Run& run) {
  require<ArgumentError>(run.side >= 32 && run.side <= 2048, "--side ", run.side, " must be 32 to 2048");
  { const FileReplacement writable(run.picture); }  // throws now, not at the end, where no file can be written
  const Device device = Device::best();
  device.seed(run.seed);
  models::PerceptualLoss loss = models::PerceptualLossConfig{.network = {.width = run.width}}.init(device);
  if (run.weights) load_torchvision(loss.network, *run.weights);
  else loss.network = drawn_at_random(std::move(loss.network), device);
  for (models::PerceptualLayer& layer : loss.style) layer.weight = run.strength;

  const Tensor<4> content = pixels_of(run.content, false, run.side, device),
                  style = pixels_of(run.style, true, run.side, device);
  Painting painting{nn::Param<4>(content.to_device(device.autodiff()))};
  Adam adam = AdamConfig{}.init(painting);
  const auto of = [&](const Painting& p) {
    return loss.forward(p.pixels, content, style) + roughness(p.pixels) * run.smoothness;
  };
  double first = 0;
  for (std::int64_t step = 1; step <= run.steps; ++step) {
    auto [value, grads] = value_and_grad(painting, of);
    painting = adam.step(run.rate, std::move(painting), grads);
    const double now = value.item<double>();
    if (step == 1) first = now;
    if (step % 25 && step != run.steps) continue;
    print("step {}: perceptual loss {:.4g}, {:.1f} % of the first\n", step, now, 100 * now / first);
    std::fflush(stdout);
    write_picture(vision::pictures_of(painting.pixels).front(), run.picture);
  }
  print("painted: {}\n", run.picture);
}

const Help kHelp{
    R"(A picture is painted in the style of another: its pixels go down the perceptual loss of a VGG-19 until its layers see the
content of the one and the style of the other.

  stylize --content photograph.jpg --style painting.jpg --weights vgg19.pth [--side N] [--steps N] [--picture FILE.png] ...

Without --weights, torchvision's, the network is drawn at random: textures are those of the style, what things are it does not
know. Without pictures it draws some.)",
    {{"content", "the picture that is painted, a PNG or JPEG file; none: a disc"},
     {"style", "the picture whose style is taken, a PNG or JPEG file; none: slanting stripes"},
     {"weights", "the file of torchvision's vgg19; none: drawn at random"},
     {"side", "pixels of the content's shorter side"},
     {"width", "channels of the network's first stage"},
     {"steps", "steps of training"},
     {"rate", "the learning rate, at its highest"},
     {"strength", "the weight of the style beside the content"},
     {"smoothness", "the weight of differences between neighbouring pixels"},
     {"seed", "decides initial weights, order and noise"},
     {"picture", "the file that the picture is written to"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, paint, kHelp); }
