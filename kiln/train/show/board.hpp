// What there is to see of a training, for whoever draws it.
#pragma once
#include <cstdint>
#include <deque>
#include <string>

#include "kiln/train/log/progress.hpp"
#include "kiln/train/sensor/gauge.hpp"
#include "kiln/train/show/plot.hpp"

namespace kiln {

/// Kept up to date by the events of a training.
struct Board {
  static constexpr std::size_t kSaid = 200;

  Progress progress;
  Histories histories;
  Gauge machine;
  std::deque<std::string> said;  // the last sentences, with the time
  std::int64_t sentences = 0;    // that were ever said
  std::string ended;             // why; empty as long as the training goes on

  void say(std::string_view sentence);
  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::EpochEnd& end) { progress.on(end); }
  void on(const training::Saved& saved);
  void on(const training::Note& note) { say(note.text); }
  void on(const training::Ending& ending);
};

}  // namespace kiln
