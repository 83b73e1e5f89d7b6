// What the displays of training show.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "kiln/train/log/progress.hpp"
#include "kiln/train/sensor/gauge.hpp"
#include "kiln/train/show/plot.hpp"

namespace kiln {

/// Updated by the events of training.
struct Board {
  static constexpr std::size_t kSaid = 200;

  Progress progress;
  Histories histories;
  Gauge machine;
  std::vector<Series> system;    // what the machine did, at the steps of training; checkpoints do not keep it
  std::deque<std::string> said;  // the last messages, with the time
  std::int64_t sentences = 0;    // messages so far
  std::string ended;             // the reason; empty while training runs

  void say(std::string_view sentence);
  void on(const training::Begin& begin);
  /// Returns whether the system was looked at.
  bool on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::EpochEnd& end) { progress.on(end); }
  void on(const training::Saved& saved);
  void on(const training::Message& note) { say(note.text); }
  void on(const training::RunEnd& ending);
};

}  // namespace kiln
