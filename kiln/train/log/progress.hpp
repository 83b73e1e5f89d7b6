// The progress of training, for displays; and the simplest of these, lines of text.
#pragma once
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "kiln/train/events.hpp"

namespace kiln {

/// The state of progress, updated by the events of training.
class Progress {
 public:
  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::EpochEnd& end) { at_ = end.at; }

  const training::Position& at() const { return at_; }
  double loss() const { return loss_; }  // the loss of the last step
  double rate() const { return rate_; }
  double items_per_second() const { return speed_; }  // over the last seconds
  double epoch_share() const;                         // completed, 0 to 1
  /// The completed fraction of the training run, by the first limit that will be reached.
  double share() const;
  /// The time until that limit; 0 if unknown.
  double seconds_left() const;
  std::string epoch_text() const;  // "2/10"

 private:
  training::Begin begin_;
  training::Position at_;
  double loss_ = 0, rate_ = 0, speed_ = 0, steps_per_second_ = 0;
};

/// A bar of `cells` characters, in eighths of a character; made of '#' if `plain`.
std::string bar(double share, int cells, bool plain = false);
/// "1:02:03", "2:03".
std::string duration_text(double seconds);

/// A callback that prints progress: on a terminal a line that is updated, elsewhere, or if TERM is "dumb", a line every
/// ten seconds; and a line for each evaluation, note and the end.
class ProgressLines {
 public:
  explicit ProgressLines(std::FILE* out = stdout);
  ~ProgressLines();
  ProgressLines(ProgressLines&& other) noexcept;

  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::EpochEnd& end) { progress_.on(end); }
  void on(const training::Message& note) { print(note.text); }
  void on(const training::RunEnd& ending);

 private:
  void print(std::string_view line);
  void draw();
  void clear();

  std::FILE* out_;
  bool terminal_, drawn_ = false;
  Progress progress_;
  std::chrono::steady_clock::time_point last_{};
};

/// Can the cursor be moved: is this a terminal whose TERM is not "dumb"?
bool is_screen(std::FILE* file);

}  // namespace kiln
