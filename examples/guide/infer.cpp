#include "examples/guide/infer.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "examples/guide/model.hpp"
#include "examples/guide/picture.hpp"
#include "examples/guide/source.hpp"
#include "kiln/store/save.hpp"
#include "kiln/train/checkpointer.hpp"

namespace guide {

std::int64_t infer(const InferOptions& options, const Device& device) {
  const std::string checkpoint = latest_checkpoint(checkpoints_of(options.artifacts));
  const auto settings = settings_of(checkpoint);
  const Model model = valid(load(checkpoint, settings.model.init(device.inner()), {.under = "model"}));

  const Image image =
      options.image ? read_picture(*options.image) : open_source(settings.data).test->get(options.index);
  const ImageBatch batch = ImageBatcher::normalized()({&image, 1});
  const Tensor<2> logits = model.forward(Tensor<3>::from_data(batch.images, device.inner()));
  const std::vector<float> chances = logits.softmax(1).to_vector();

  fmt::print("{}", draw(image, isatty(STDOUT_FILENO) != 0));
  const auto best = std::max_element(chances.begin(), chances.end()) - chances.begin();
  for (std::size_t digit = 0; digit < chances.size(); ++digit) {
    const auto width = static_cast<std::size_t>(std::lround(chances[digit] * 40));
    std::string bar;
    for (std::size_t i = 0; i < width; ++i) bar += "█";
    fmt::print("{} {:6.2f} % {}\n", digit, 100 * chances[digit], bar);
  }
  if (image.label >= 0) fmt::print("this is a {}\n", image.label);
  fmt::print("the model says {}\n", best);
  return best;
}

}  // namespace guide
