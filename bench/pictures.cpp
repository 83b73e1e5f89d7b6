// From a folder of JPEG files to batches for a network: decoded, a random part in 224 x 224 pixels, mirrored as often as not,
// normalised, stacked; pictures a second, and processor time of each. bench/peers/torch_pictures.py makes such a folder, and runs
// this beside PyTorch's DataLoader.
//
//   bench_pictures --data FOLDER [--workers N] [--batch N] [--rounds N]; --help lists all
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/clock.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/data/picture/augment.hpp"
#include "kiln/data/picture/folder.hpp"

namespace {

using namespace kiln;
using bench::process_seconds;
using bench::wall_seconds;

struct Run {
  std::string data;
  int workers = 2;
  std::int64_t batch = 32, side = 224, rounds = 3;
};

void measure(const Run& run) {
  const PictureFolder folder(run.data);
  const auto change = [side = run.side](const Picture& picture, Random& random) {
    return randomly_mirrored(random_resized_crop(picture, {.height = side, .width = side}, random), random);
  };
  DataLoader loader(folder, augmenting(change, PictureBatcher::image_net()),
                    {.batch_size = run.batch, .shuffle = true, .seed = 1, .workers = run.workers});
  for (std::int64_t round = 0; round < run.rounds; ++round) {
    const double wall = wall_seconds(), processor = process_seconds();
    std::int64_t pictures = 0;
    for (const PictureBatch& batch : loader) pictures += batch.items();
    const auto count = static_cast<double>(pictures);
    std::printf("%.1f pictures/s, %.3f ms of processors each\n", count / (wall_seconds() - wall),
                1e3 * (process_seconds() - processor) / count);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, measure); }
