// From a folder of JPEG files to batches for a network: decoded, a random part in 224 x 224 pixels, mirrored as often as not,
// normalised, stacked; pictures a second, and processor time of each. bench/peers/torch_pictures.py makes such a folder, and runs
// this beside PyTorch's DataLoader.
//
//   bench_pictures --data FOLDER [--workers N] [--batch N] [--rounds N]; --help lists all
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/data/picture/augment.hpp"
#include "kiln/data/picture/folder.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string data;
  int workers = 2;
  std::int64_t batch = 32, side = 224, rounds = 3;
};

double process_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
