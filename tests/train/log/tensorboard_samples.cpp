// tensorboard_samples DIRECTORY: event files for read_tensorboard.py, which asks TensorBoard what it finds in them.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/data/image.hpp"
#include "kiln/train/log/tensorboard.hpp"

int main(int count, char** words) {
  using namespace kiln;
  if (count != 2) return 2;
  const std::filesystem::path directory = words[1];
  {
    EventFile file(directory, 0);
    for (const int step : {1, 2, 300}) file.scalar("valid/loss", 1.0 / step, step);
    file.histogram("weights", std::vector<float>{0, 0.25f, 1, 1, NAN}, 2, 2);
    file.image("picture", {.pixels = {0, 0.5f, 1, 0.25f, 0, 1}, .height = 2, .width = 3}, 1);
    file.text("note", "some *words*", 2);
    const std::vector<std::string> metrics = {"valid/loss"};
    file.hyper_parameters(parse_json(R"({"rate": 0.5, "seed": 7, "name": "adam", "o": {"on": true}})", "x"), metrics);
    file.ended(true, 300);
  }
  // A training that was killed after step 300 goes on from step 3.
  EventFile again(directory, 3);
  again.scalar("valid/loss", 0.25, 3);
  {
    TensorBoard log(directory);
    log.on(training::Begin{.at = {.step = 3}});
    log.on(training::Distribution{{.step = 4}, "weights/bias", histogram_of(std::vector<float>{0, 1, 1, 4}, 4)});
    log.on(training::Drawing{{.step = 4}, "drawn", png_of(Image{{0, 1}, 1, 2, 0})});
    log.on(training::Evaluation{
        .at = {.step = 4},
        .split = "valid",
        .readings = {{.name = "confusion", .value = 1, .matrix = Matrix{2, 2, {1, 0, 0, 1}, {}}}}});
  }
}
