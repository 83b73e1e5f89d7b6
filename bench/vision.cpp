// The functions of kiln/vision on a picture of 1080 x 1920 float32 pixels: milliseconds of each, the median of some rounds.
// bench/peers/opencv_vision.py runs this beside OpenCV, on one thread each.
//
//   bench_vision [--only NAME] [--rounds N] [--device cpu] [--threads 1] [--processor]; --help lists all
#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/clock.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/device.hpp"
#include "kiln/vision.hpp"

namespace {

using namespace kiln;

struct Run {
  std::optional<std::string> only = {};  // rows whose names have this in them
  std::string device = "cpu";
  int rounds = 9, threads = 1;
  bool processor = false;  // time of the processor, which does not pass while other programs have it
};

struct Row {
  const char* name;
  std::int64_t channels;
  std::function<Value(const Value&)> work;
};

std::vector<Row> rows(const Device& device) {
  using namespace vision;
  const Value kernel = uniform({5, 5}, -1, 1, device, DType::F32, Key{3});
  const Transform2D turned = Transform2D::rotation(10, {960, 540});
  return {
      {"grey", 3, [](const Value& x) { return rgb_to_grey(x); }},
      {"hsv", 3, [](const Value& x) { return rgb_to_hsv(x); }},
      {"ycbcr", 3, [](const Value& x) { return rgb_to_ycbcr(x); }},
      {"lab", 3, [](const Value& x) { return rgb_to_lab(x); }},
      {"filter2d 5x5", 1, [=](const Value& x) { return filter2d(x, kernel); }},
      {"box 5x5", 1, [](const Value& x) { return box_blur(x, 5, 5); }},
      {"box 31x31", 1, [](const Value& x) { return box_blur(x, 31, 31); }},
      {"gaussian 5x5", 1, [](const Value& x) { return gaussian_blur(x, {.rows = 5, .columns = 5}); }},
      {"gaussian 31x31", 1, [](const Value& x) { return gaussian_blur(x, {.rows = 31, .columns = 31}); }},
      {"median 3", 1, [](const Value& x) { return median_blur(x, 3); }},
      {"median 5", 1, [](const Value& x) { return median_blur(x, 5); }},
      {"bilateral 2", 1, [](const Value& x) { return bilateral_blur(x, {.radius = 2}); }},
      {"sobel", 1, [](const Value& x) { return sobel(x); }},
      {"scharr", 1, [](const Value& x) { return scharr(x); }},
      {"laplacian", 1, [](const Value& x) { return laplacian(x); }},
      {"erode rectangle 5x5", 1, [](const Value& x) { return erode(x, rectangle(5, 5)); }},
      {"dilate ellipse 9x9", 1, [](const Value& x) { return dilate(x, ellipse(9, 9)); }},
      {"open cross 3x3", 1, [](const Value& x) { return morphological_open(x, cross(3, 3)); }},
      {"histogram", 1, [](const Value& x) { return histogram(x, {.high = 1}); }},
      {"threshold", 1, [](const Value& x) { return threshold(x, 0.5, {.value = 1}); }},
      {"warp linear", 1, [=](const Value& x) { return warp(x, turned); }},
      {"warp cubic", 1, [=](const Value& x) { return warp(x, turned, {.mode = Interpolation::Cubic}); }},
      {"resize half", 1, [](const Value& x) { return resize(x, 540, 960); }},
      {"resize double", 1, [](const Value& x) { return resize(x, 2160, 3840); }},
      {"flip", 1, [](const Value& x) { return flip_across(x) + 0; }},
      // What OpenCV has for bytes alone.
      {"canny of bytes", 1, [](const Value& x) { return canny(cast(x * 255, DType::U8)); }},
      {"components", 1, [](const Value& x) { return connected_components(gt(x, 0.6)).labels; }},
  };
}

void measure(const Run& run) {
  const Device device = Device::parse(run.device);
  const Threads threads(run.threads);
  const auto seconds_now = run.processor ? bench::process_seconds : bench::wall_seconds;
  for (const Row& row : rows(device)) {
    if (run.only && std::string(row.name).find(*run.only) == std::string::npos) continue;
    const Value x = vision::box_blur(uniform({1, row.channels, 1080, 1920}, 0, 1, device, DType::F32, Key{1}), 3, 3);
    std::vector<double> seconds;
    for (int round = -2; round < run.rounds; ++round) {
      device.sync();
      const double begin = seconds_now();
      {
        const Value y = row.work(x);
        device.sync();
      }
      if (round >= 0) seconds.push_back(seconds_now() - begin);
    }
    std::ranges::sort(seconds);
    std::printf("%s\t%.4f\n", row.name, 1e3 * seconds[seconds.size() / 2]);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, measure); }
