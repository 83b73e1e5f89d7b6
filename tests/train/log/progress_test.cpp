// Lines and bars of how far a training is.
#include <gtest/gtest.h>

#include <limits>

#include <unistd.h>

#include "kiln/train/log/progress.hpp"
#include "tests/train/log/logged.hpp"

namespace kiln {
namespace {

using training::Begin, training::Step;

std::string printed(const auto& use) {
  std::FILE* const file = std::tmpfile();
  use(file);
  EXPECT_EQ(std::fseek(file, 0, SEEK_SET), 0);
  std::string out(1 << 12, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), file));
  std::fclose(file);
  return out;
}

TEST(ProgressLines, ArePlainWhereThereIsNoTerminal) {
  EXPECT_EQ(printed([](std::FILE* file) { run(ProgressLines(file), 0, 4); }),
            "epoch 1/2, step 2, valid: loss 0.5; nothing was measured\nepoch 1/2, step 4, valid: loss 0.5; nothing was "
            "measured\n"
            "ends after step 4, 0:00: all \"done\"\n");
  EXPECT_EQ(bar(0.5, 4, true), "##  ");
  EXPECT_EQ(bar(0.375, 2), "▊ ");
  EXPECT_EQ(duration_text(3725), "1:02:05");
  EXPECT_EQ(duration_text(59.5), "1:00");
  EXPECT_EQ(duration_text(-1), "0:00");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "1000000:00:00");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::quiet_NaN()), "0:00");
}

TEST(Progress, KnowsWhatIsLeft) {
  Progress progress;
  progress.on(Begin{.batches = 10, .epochs = 4});
  for (std::int64_t step = 1; step <= 15; ++step)
    progress.on(Step{{.epoch = step / 10, .batch = step % 10, .step = step}, 0.1, {0.5}, 32, 0.5});
  EXPECT_DOUBLE_EQ(progress.share(), 15.0 / 40);
  EXPECT_NEAR(progress.seconds_left(), 12.5, 1e-9);
  EXPECT_NEAR(progress.items_per_second(), 64, 1e-9);
  EXPECT_EQ(progress.epoch_text(), "2/4");
}

TEST(Progress, GoesByTheLimitThatIsReachedFirst) {
  const auto after = [](const Begin& begin) {
    Progress progress;
    progress.on(begin);
    for (std::int64_t step = 1; step <= 15; ++step)
      progress.on(
          Step{{.epoch = step / 10, .batch = step % 10, .step = step, .seconds = 0.5 * static_cast<double>(step)},
               0.1,
               {0.5},
               32,
               0.5});
    return progress;
  };
  const Progress seconds = after({.batches = 10, .epochs = 100, .seconds = 9.0});
  EXPECT_NEAR(seconds.seconds_left(), 1.5, 1e-9);
  EXPECT_NEAR(seconds.share(), 7.5 / 9, 1e-9);
  EXPECT_NEAR(after({.batches = 10, .seconds = 9.0}).seconds_left(), 1.5, 1e-9);
  EXPECT_NEAR(after({.batches = 10, .epochs = 2, .seconds = 900.0}).seconds_left(), 2.5, 1e-9);
  EXPECT_NEAR(after({.batches = 10, .epochs = 100, .steps = 17, .seconds = 900.0}).seconds_left(), 1, 1e-9);
  EXPECT_EQ(after({.batches = 10, .seconds = 5.0}).seconds_left(), 0);
}

}  // namespace
}  // namespace kiln
