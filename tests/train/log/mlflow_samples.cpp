// Writes the runs that read_mlflow.py reads back: mlflow_samples DIRECTORY
#include <cstdio>
#include <exception>
#include <limits>

#include "kiln/core/text.hpp"
#include "kiln/train/log/mlflow.hpp"

using namespace kiln;

namespace {

void run(MlflowLog log, std::int64_t from, std::int64_t to, bool ends) {
  log.on(training::Begin{.at = {.step = from}});
  for (std::int64_t step = from + 1; step <= to; ++step) {
    const training::Position at{.step = step};
    log.on(training::Step{at, 1.0 / static_cast<double>(step), {0.5, 0.25}, 8, 0.1});
    if (step % 2 == 0)
      log.on(training::Evaluation{at,
                                  "valid",
                                  {{"loss", 0.1 * static_cast<double>(step)},
                                   {"a \"b\"", std::numeric_limits<double>::quiet_NaN(), "nothing was measured"},
                                   {"sample", 0, {}, text("words\nof step ", step)}}});
  }
  if (ends) log.on(training::RunEnd{{.step = to}, "all is done"});
}

}  // namespace

int main(int count, char** words) try {
  if (count != 2) return 2;
  const Json params{
      Json::Object{{"rate", Json{0.5}},
                   {"model", Json{Json::Object{{"name", Json{"gpt: \"tiny\""}}, {"depth", Json{std::int64_t{4}}}}}}}};
  const MlflowRun named{.experiment = "digits: \"a\" é", .name = "first 'run'", .params = params};
  run(MlflowLog(words[1], named), 0, 7, false);  // it was killed
  run(MlflowLog(words[1], named), 4, 8, true);   // and resumed from step 4
  run(MlflowLog(words[1], {.experiment = named.experiment}), 0, 1, false);
  MlflowRun again = named;
  again.name = "again";
  run(MlflowLog(words[1], again), 0, 9, true);
  run(MlflowLog(words[1], again), 0, 1, true);  // anew in its place
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
