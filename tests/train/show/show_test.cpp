// What is drawn of a training, and what keys and the mouse choose of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/core/text.hpp"
#include "kiln/train/recorded.hpp"
#include "kiln/train/show/dashboard.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/show/letters.hpp"

namespace kiln {
namespace {

Series series(const std::string& split, const std::vector<double>& values) {
  Series made{split, "loss"};
  for (std::size_t i = 0; i < values.size(); ++i) made.add(static_cast<double>(i), values[i]);
  return made;
}

std::vector<std::string> plotted(const std::vector<Series>& all, int width, int height, StepRange steps = {}) {
  std::vector<const Series*> pointers;
  for (const Series& s : all) pointers.push_back(&s);
  return plot(pointers, width, height, steps, false);
}

TEST(Plot, DrawsCurvesInDots) {
  // Four dots across and eight down, of which a line takes two in each column: in each cell the upper two on the left
  // and the lower two on the right, which is U+28A3.
  const auto falls = plotted({series("train", {7, 0})}, 13, 2);
  EXPECT_EQ(falls, (std::vector<std::string>{"         7 ⢣ ", "         0  ⢣"}));
  const auto level = plotted({series("train", {2, 2, 2})}, 14, 1);
  EXPECT_EQ(level[0].substr(0, 11), "         2 ");
  EXPECT_EQ(plotted({}, 20, 3).size(), 3u);
  // Of steps 1 to 2 alone, as if there were no others.
  EXPECT_EQ(plotted({series("train", {90, 7, 0, -90})}, 13, 2, {1, 2}), falls);
  EXPECT_EQ(plotted({series("train", {std::nan(""), 1})}, 12, 1)[0].substr(0, 11), "         1 ");
}

TEST(Plot, StaysInsideWhateverItsNumbersAre) {
  const double huge = 9e307, infinite = std::numeric_limits<double>::infinity();
  const auto bend = [](const std::vector<std::string>& lines) {  // without the labels
    return std::vector{lines[0].substr(11), lines[1].substr(11)};
  };
  // The range of these is infinite as a float64.
  EXPECT_EQ(bend(plotted({series("train", {huge, -huge})}, 13, 2)), bend(plotted({series("train", {7, 0})}, 13, 2)));
  // From a step to itself there is no way.
  EXPECT_EQ(plotted({series("train", {90, 7, 0})}, 13, 1, {1, 1})[0], "         7 ⠁ ");
  Series odd{"train", "loss"};
  odd.add(infinite, 1);
  odd.add(-infinite, 1);
  odd.add(std::nan(""), 1);
  odd.add(1, infinite);
  EXPECT_TRUE(odd.points.empty());
  EXPECT_EQ(odd.seen, 0);
}

TEST(Plot, TakesNoCurvesOfWhatIsNoNumber) {
  Histories histories;
  histories.on(training::Step{{.step = 3}, 0.5, {}, 8, 0.1});
  const auto broken = [&](const std::string& list) {
    return sentence_of([&] {
      Histories taken = histories;
      taken.visit_state([&](const std::string& name, auto& part) {
        if constexpr (std::is_same_v<decltype(part), std::vector<double>&>)
          if (name == list) part.at(0) = std::nan("");
      });
    });
  };
  EXPECT_EQ(broken("none"), "");
  EXPECT_EQ(broken("steps"), "DataError: curves: a point that is no finite number");
  EXPECT_EQ(broken("values"), "DataError: curves: a point that is no finite number");
}

TEST(Plot, SmoothsByAnExponentialAverage) {
  const auto average = smoothed({{1, 1}, {2, 0.5}, {3, 0.25}}, 0.5);
  EXPECT_NEAR(average[0].value, 1, 1e-12);
  EXPECT_NEAR(average[1].value, (0.25 + 0.25) / 0.75, 1e-12);
  EXPECT_NEAR(average[2].value, (0.125 + 0.125 + 0.125) / 0.875, 1e-12);
  EXPECT_EQ(smoothed({{1, 7}, {2, 3}}, 0)[1].value, 3);
}

TEST(Plot, NumbersItsAxesAndTakesLogarithms) {
  const Series powers = series("valid", {1, 10, 100, 1000, 10000});
  const Series* const one[] = {&powers};
  const auto lines = plot(one, 11 + 33, 10, {}, false, {}, {.logarithmic = true, .numbered = true});
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines[0].substr(0, 11), "     1e+04 ");
  EXPECT_EQ(lines[4].substr(0, 11), "       100 ");
  EXPECT_EQ(lines[8].substr(0, 11), "         1 ");
  EXPECT_EQ(lines[9].substr(0, 12), "           0");  // steps 0 to 4
  EXPECT_TRUE(lines[9].ends_with("4")) << lines[9];
  EXPECT_NE(lines[9].find('2'), std::string::npos);
  EXPECT_LE(lines[9].size(), 44u);
  // A power of ten a line is a straight line: a dot in each, on the way.
  for (std::size_t row = 0; row < 9; ++row) EXPECT_NE(lines[row].find("\xe2"), std::string::npos) << row;
  // Where nothing is positive, nothing is drawn.
  const Series none = series("valid", {0, -1});
  const Series* const other[] = {&none};
  for (const std::string& line : plot(other, 40, 5, {}, false, {}, {.logarithmic = true, .numbered = true}))
    EXPECT_EQ(line.find("\xe2"), std::string::npos);
}

TEST(Dashboard, SmoothsAndTakesLogarithmsByKeys) {
  Board board;
  board.on(training::Begin{.batches = 10, .epochs = 1});
  board.on(training::Step{.at = {.step = 1}, .loss = 0.5, .rates = {0.1}, .items = 1});
  View view;
  for (const double factor : {0.6, 0.9, 0.97, 0.0}) {
    view.press(Press::Smooth, board);
    EXPECT_EQ(view.style.smoothing, factor);
  }
  view.press(Press::Log, board);
  view.press(Press::Smooth, board);
  const auto screen = screen_of(board, view, {.width = 90, .height = 24}, false);
  EXPECT_TRUE(std::ranges::any_of(screen, [](const std::string& line) {
    return line.find("smoothed by 0.6") != line.npos && line.ends_with("log scale");
  }));
  view.press(Press::Log, board);
  EXPECT_FALSE(view.style.logarithmic);
}

TEST(Plot, KeepsEverySecondPointOfTooMany) {
  Series many{"train", "loss"};
  for (int i = 0; i < 20'000; ++i) many.add(i, i);
  EXPECT_LE(many.points.size(), Series::kMost);
  EXPECT_GE(many.points.size(), Series::kMost / 2);
  EXPECT_EQ(many.every, 8);
  for (std::size_t i = 0; i < many.points.size(); ++i) ASSERT_EQ(many.points[i].step, 8.0 * static_cast<double>(i));
}

TEST(Plot, KeepsTheLeastAndTheGreatestOverACheckpoint) {
  const auto evaluation = [](double loss, bool complete = true) {
    return training::Evaluation{{}, "valid", {{"loss", loss}}, complete};
  };
  Histories before;
  before.on(evaluation(9, false));
  ASSERT_EQ(before.rows().size(), 1u);
  EXPECT_EQ(before.rows()[0]->last, 9);  // as long as there is nothing better
  EXPECT_FALSE(before.rows()[0]->measured());
  for (const double loss : {3.0, 1.0, 2.0}) before.on(evaluation(loss));
  Histories after;
  RecordedObjects written, read;
  written.add("curves", before);
  read.add("curves", after);
  read.restore(written.snapshot({}), "a checkpoint");
  after.on(evaluation(5, false));  // of a part of an epoch
  after.on(evaluation(2.5));
  after.on(training::Evaluation{{}, "valid", {{"loss", std::nan(""), "nothing was measured"}}, false});
  const Series& row = *after.rows().at(0);
  EXPECT_EQ(row.least, 1);
  EXPECT_EQ(row.greatest, 3);
  EXPECT_EQ(row.last, 2.5);
  EXPECT_TRUE(row.known);

  Board board;
  board.histories = after;
  const auto lines = screen_of(board, {}, {100, 24}, false);
  EXPECT_TRUE(std::ranges::any_of(lines, [](const std::string& line) {
    return line.find("valid    loss                              2.5            1            3") == 0;
  })) << ::testing::PrintToString(lines);
}

Board board() {
  Board made;
  made.progress.on(training::Begin{.batches = 10, .epochs = 4});
  for (std::int64_t step = 1; step <= 25; ++step) {
    const training::Step event{
        {.epoch = step / 10, .batch = step % 10, .step = step}, 1.0 / static_cast<double>(step), {0.5}, 8, 0.1};
    made.progress.on(event);
    made.histories.on(event);
  }
  const training::Evaluation valid{{.step = 20}, "valid", {{"loss", 0.25}, {"accuracy", 0.75}}};
  made.histories.on(valid);
  made.say("a sentence");
  return made;
}

TEST(Dashboard, FitsScreensOfAnySize) {
  const Board made = board();
  for (const ScreenSize size : {ScreenSize{80, 24}, {200, 60}, {20, 5}, {1, 1}}) {
    const auto lines = screen_of(made, {}, size);
    EXPECT_GE(static_cast<int>(lines.size()), std::min(size.height, 2));
    for (const auto& line : lines) EXPECT_LE(test::letters(clipped(line, size.width)), size.width) << line;
  }
  const auto lines = screen_of(made, {}, {80, 24}, false);
  EXPECT_EQ(lines.size(), 24u);
  EXPECT_EQ(lines[0], "epoch 3/4  step 25  loss 0.04  rate 0.5  80 items/s");
  const auto has = [&](const std::string& words) {
    return std::any_of(lines.begin(), lines.end(), [&](const auto& line) { return line.find(words) != line.npos; });
  };
  EXPECT_TRUE(has("valid    accuracy                         0.75         0.75         0.75"));
  EXPECT_TRUE(has("a sentence"));
  EXPECT_FALSE(has("GiB"));
  Board watched = made;
  watched.machine.look();
  const auto more = screen_of(watched, {}, {80, 24}, false);
  EXPECT_EQ(more.size(), 24u);
  EXPECT_EQ(more[2], watched.machine.line());
  EXPECT_NE(more[2].find("GiB"), std::string::npos);
  watched.histories.on(training::Evaluation{{}, "valid", {{"accuracy", std::nan(""), "nothing was measured"}}});
  const auto rest = screen_of(watched, {}, {80, 24}, false);
  const std::string row = "valid    accuracy                            -         0.75         0.75";
  EXPECT_NE(std::find(rest.begin(), rest.end(), row), rest.end());
}

TEST(Dashboard, ChoosesMetricsAndZooms) {
  const Board made = board();
  View view;
  EXPECT_EQ(made.histories.metrics(), (std::vector<std::string>{"loss", "rate", "accuracy"}));
  view.press(Press::Left, made);
  EXPECT_EQ(view.metric, 2u);
  view.press(Press::Right, made);
  EXPECT_EQ(view.metric, 0u);
  view.press(Press::Down, made);
  EXPECT_EQ(view.zoom, 0);
  EXPECT_EQ(view.steps(made).from, 0);
  view.press(Press::Up, made);
  EXPECT_EQ(view.zoom, 1);
  EXPECT_EQ(view.steps(made).from, 12.5);  // the later half of 25 steps
}

TEST(Dashboard, GoesBackThroughTheSteps) {
  Board made = board();
  View view;
  view.press(Press::Back, made);  // there is nothing before all
  EXPECT_EQ(view.steps(made).from, 0);
  view.press(Press::Up, made);
  view.press(Press::Up, made);  // a quarter: 18.75 to 25
  view.press(Press::Back, made);
  EXPECT_EQ(view.steps(made).from, 15.625);
  EXPECT_EQ(view.steps(made).to, 21.875);
  made.progress.on(training::Step{{.epoch = 2, .batch = 6, .step = 30}, 0.1, {0.5}, 8, 0.1});
  EXPECT_EQ(view.steps(made).from, 15);  // still around 18.75
  EXPECT_EQ(view.steps(made).to, 22.5);
  for (int i = 0; i < 3; ++i) view.press(Press::Forward, made);
  EXPECT_EQ(view.steps(made).from, 22.5);  // and follows again
  made.progress.on(training::Step{{.epoch = 3, .batch = 2, .step = 32}, 0.1, {0.5}, 8, 0.1});
  EXPECT_EQ(view.steps(made).from, 24);
  for (int i = 0; i < 9; ++i) view.press(Press::Back, made);
  EXPECT_EQ(view.steps(made).from, 0);
  EXPECT_EQ(view.steps(made).to, 8);
  view.press(Press::Down, made);
  view.press(Press::Down, made);
  EXPECT_EQ(view.steps(made).from, 0);
}

TEST(Dashboard, ShowsWordsAndPlotsNumbers) {
  Board made = board();
  made.histories.on(training::Evaluation{{}, "valid", {{"sample", std::nan(""), {}, "once upon\na time"}}});
  EXPECT_EQ(made.histories.metrics(), (std::vector<std::string>{"loss", "rate", "accuracy"}));
  const auto lines = screen_of(made, {}, {100, 30}, false);
  EXPECT_NE(std::ranges::find(lines, "valid    sample                   once upon\\x0aa time"), lines.end())
      << ::testing::PrintToString(lines);
}

TEST(Dashboard, IsChosenFromByTheMouse) {
  Board made = board();
  made.histories.on(training::Evaluation{{}, "train", {{"loss", 0.5}, {"accuracy", 0.125}}});
  constexpr ScreenSize kSize{100, 30};
  View view;
  const auto click = [&](std::string_view words, int more = 0) {
    const auto lines = screen_of(made, view, kSize, false);
    for (int row = 0; row < std::ssize(lines); ++row) {
      const std::size_t at = lines[static_cast<std::size_t>(row)].find(words);
      if (at == std::string::npos) continue;
      const auto target = target_at(made, kSize, {static_cast<int>(at) + more, row});
      if (target) view.choose(*target, made);
      return target.has_value();
    }
    return false;
  };
  const auto first_row = [&] {
    const auto lines = screen_of(made, view, kSize, false);
    const auto heading = std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("split"); });
    return (heading + 1)->substr(0, 18);
  };
  EXPECT_TRUE(click(" loss  rate  accuracy ", 14));
  EXPECT_EQ(view.metric, 2u);
  EXPECT_TRUE(click("  rate  ", 2));
  EXPECT_EQ(view.metric, 1u);
  EXPECT_TRUE(click("train    accuracy"));  // a row
  EXPECT_EQ(view.metric, 2u);
  EXPECT_EQ(first_row(), "valid    loss     ");
  EXPECT_TRUE(click("last"));
  EXPECT_EQ(view.sorted_by, TableColumn::Last);
  EXPECT_EQ(first_row(), "train    accuracy ");  // 0.125 is the least
  EXPECT_TRUE(click("last^"));
  EXPECT_EQ(first_row(), "valid    accuracy ");  // 0.75
  EXPECT_TRUE(click("train    loss"));           // rows are chosen as they are shown
  EXPECT_EQ(view.metric, 0u);
  EXPECT_TRUE(click("lastv"));
  EXPECT_EQ(view.sorted_by, std::nullopt);
  EXPECT_TRUE(click("metric", 3));
  EXPECT_EQ(first_row(), "valid    accuracy ");
  EXPECT_FALSE(click("epoch 3/4"));
  EXPECT_FALSE(click("q: stop"));
  for (int row = -1; row < 40; ++row)
    for (int column = -1; column < 120; ++column)
      if (const auto target = target_at(made, kSize, {column, row})) view.choose(*target, made);
  for (const ScreenSize size : {ScreenSize{1, 1}, {20, 5}})
    for (int row = 0; row < 6; ++row)
      if (const auto target = target_at(made, size, {0, row})) view.choose(*target, made);
}

TEST(Terminal, TakesKeysOffItsBytesOneByOne) {
  const auto all = [](std::string bytes, std::string* rest = nullptr) {
    std::vector<Press> keys;
    ScreenPlace clicked;
    for (Press key; (key = take_key(bytes, clicked)) != Press::None;) keys.push_back(key);
    if (rest) *rest = bytes;
    return keys;
  };
  using enum Press;
  EXPECT_EQ(all("qst<g"), (std::vector{Stop, Save, Unsaved, Back, GoOn}));
  EXPECT_EQ(all("\x1b[A\x1bOB\x1b[C\x1b[1;5Dx"), (std::vector{Up, Down, Right, Other, Other}));
  EXPECT_EQ(all("\x1b"), std::vector{GoOn});
  EXPECT_EQ(all("\x1b[<64;1;1M\x1b[<65;1;1M\x1b[<0;1;1m\x1b[<2;1;1M\x1b[<M"),
            (std::vector{WheelUp, WheelDown, Mouse, Mouse, Mouse}));
  EXPECT_EQ(all("\x1b[<99999999999;1;1M"), std::vector{Mouse});
  std::string rest;
  EXPECT_TRUE(all("\x1b[<0;12", &rest).empty());
  EXPECT_EQ(rest, "\x1b[<0;12");  // the rest of it is still to come
  EXPECT_TRUE(all("\x1b[" + std::string(100, '0'), &rest).empty());
  EXPECT_EQ(rest, "");
  ScreenPlace clicked;
  std::string bytes = "\x1b[<0;12;3M";
  EXPECT_EQ(take_key(bytes, clicked), Click);
  EXPECT_EQ(clicked.column, 11);
  EXPECT_EQ(clicked.row, 2);
}

TEST(Terminal, CutsLinesByLettersNotBytes) {
  EXPECT_EQ(clipped("\x1b[31mäöü\x1b[0m", 2), "\x1b[31mäö");
  EXPECT_EQ(clipped("ab", 5), "ab");
  EXPECT_EQ(clipped("ab\x1b[", 5), "ab\x1b[");
}

}  // namespace
}  // namespace kiln
