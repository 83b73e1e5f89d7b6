// The options of a training on such pictures that both examples have, and what follows from them.
#pragma once
#include <algorithm>
#include <filesystem>
#include <string_view>

#include "examples/coco/pictures.hpp"
#include "examples/coco/shapes.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train.hpp"

namespace coco {

/// The folder that a run reads: its own, or one of drawn shapes.
template <class Run>
std::string folder_of(const Run& run) {
  return run.data ? *run.data : shapes::draw(run.pictures, run.side);
}
template <class Run>
PictureOptions pictures_of(const Run& run) {
  return {run.annotations, run.side, run.batch, run.workers, run.seed};
}

/// What decides the weights. How far to go, and who looks on, may change where a training goes on.
template <class Run>
kiln::Json kept(Run run) {
  run.run.reset();
  run.plain = false;
  run.web.reset();
  run.epochs = 0;
  run.workers = 0;
  run.picture.clear();
  return kiln::to_json(run);
}

/// Trains with a warm-up and a cosine. The run says who looks on, and in which directory logs and checkpoints lie; the
/// checkpoint with the highest `metric` is the best.
template <class L, class Run, class Batch>
void fit(L& learner, const Run& run, Loaders<Batch>& loaders, std::string_view metric) {
  const std::int64_t steps = run.epochs * loaders.train.size(), warmup = std::min<std::int64_t>(20, steps / 10);
  learner.schedule(kiln::CosineConfig{.peak = run.rate, .warmup = warmup, .steps = steps});
  kiln::watch(learner, {run.plain, run.web});
  if (run.run) {
    const std::filesystem::path directory = *run.run;
    learner.add(kiln::RunDirectory(directory, kiln::to_json(run)));
    learner.checkpoints(directory / "checkpoint",
                        {.last = 1, .best = 1, .metric = std::string(metric), .rising = true, .exact = false}, true,
                        kept(run));  // not exact: with other epochs the rate falls otherwise
  }
  learner.fit(loaders.train, loaders.valid);
}

}  // namespace coco
