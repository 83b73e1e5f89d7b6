// A generator learns to make digits that a critic cannot tell from real ones; how far the critic holds them from images
// that neither has seen, and a picture of a hundred.
//
//   wgan [--data mnist] [--steps N] [--generator.width N] [--picture FILE.png] ...; --help lists all
#include <cstdio>
#include <optional>

#include "examples/guide/source.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/data/png.hpp"
#include "kiln/kiln.hpp"
#include "models/wgan.hpp"

namespace {

using namespace kiln;
using models::Critic;
using models::Generator;

struct Run {
  std::string data = "digits";  // or mnist, or a directory with MNIST's files
  models::GeneratorConfig generator = {.width = 32};
  models::CriticConfig critic = {.width = 32};
  std::int64_t steps = 2000, critic_steps = 3, batch = 64;
  double rate = 2e-4, penalty = 10;
  std::uint64_t seed = 1;
  std::string picture = "wgan.png";
};

/// Batches of real images, one epoch after the other.
class Stream {
 public:
  Stream(const DatasetPtr<Image>& images, const Run& run, const Device& device)
      : loader_(images, ImageBatcher{},
                {.batch_size = run.batch, .shuffle = true, .seed = run.seed, .workers = 1, .drop_last = true}),
        device_(device) {}

  Tensor<4> next() {
    if (!at_ || *at_ == loader_.end()) at_.emplace(loader_.begin());
    require<ArgumentError>(*at_ != loader_.end(), "there are fewer images than a batch has");
    const Tensor<3> images = to_tensors(std::move(**at_), device_).images;
    ++*at_;
    return images.unsqueeze(1);
  }

 private:
  DataLoader<ImageBatch> loader_;
  Device device_;
  std::optional<DataLoader<ImageBatch>::Iterator> at_;
};

void draw(const Generator& generator, const Device& device, const std::string& path) {
  const Tensor<2> noise = randn({100, generator.latent()}, device, Key{1});
  write_png(grid_of(to_images(valid(generator).forward(noise).squeeze(1)), 10, 3), path);
}

void learn(const Run& run) {
  (void)FileReplacement(run.picture);  // throws now, not after the training, where no file can be written
  const guide::Source source = guide::open_source(run.data);
  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  Generator generator = run.generator.init(device);
  Critic critic = run.critic.init(device);
  const AdamConfig rule{.beta1 = 0, .beta2 = 0.9};
  Adam of_generator = rule.init(generator), of_critic = rule.init(critic);
  Stream train(source.train, run, device), test(source.test, run, device);
  const auto noise = [&] { return randn({run.batch, generator.latent()}, device); };

  for (std::int64_t step = 1; step <= run.steps; ++step) {
    for (std::int64_t i = 0; i < run.critic_steps; ++i) {
      const Tensor<4> real = train.next(), fake = generator.forward(noise()).detach();
      const Tensor<1> share = rand({run.batch}, device);
      auto [loss, grads] = value_and_grad(critic, [&](const Critic& c) {
        return gradient_penalty(c, real, fake, share) * run.penalty - critic_gap(c, real, fake);
      });
      critic = of_critic.step(run.rate, std::move(critic), grads);
    }
    const Tensor<2> seeds = noise();
    auto [loss, grads] =
        value_and_grad(generator, [&](const Generator& g) { return -critic.forward(g.forward(seeds)).mean(); });
    generator = of_generator.step(run.rate, std::move(generator), grads);
    if (step % 250 && step != run.steps) continue;
    const NoGrad pause;
    double gap = 0;
    constexpr int kBatches = 16;
    for (int i = 0; i < kBatches; ++i)
      gap += critic_gap(critic, test.next(), valid(generator).forward(noise())).item<double>() / kBatches;
    print("step {}: the critic holds test images and made ones {:.3f} apart\n", step, gap);
    std::fflush(stdout);
    draw(generator, device, run.picture);
  }
  print("drawn: {}\n", run.picture);
}

const Help kHelp{
    R"(A generator learns to make digits that a critic cannot tell from real ones; how far the critic holds them from images
that neither has seen, and a picture of a hundred.

  wgan [--data mnist] [--steps N] [--generator.width N] [--picture FILE.png] ...)",
    {{"data", "digits (drawn by Kiln), mnist (downloaded), or a directory with MNIST's files"},
     {"generator", "sizes of the generator"},
     {"critic", "sizes of the critic"},
     {"steps", "steps of training"},
     {"critic_steps", "steps of the critic for each of the generator"},
     {"batch", "items in a step"},
     {"rate", "the learning rate, at its highest"},
     {"penalty", "the weight of the penalty on the critic's gradient"},
     {"seed", "decides initial weights, order and noise"},
     {"picture", "the file that the picture is written to"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn, kHelp); }
