// One line of progress that rewrites itself on a terminal; elsewhere, a plain line now and then.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace guide {

class ProgressBar {
 public:
  /// `title` stands in front, `total` is the number of items of the epoch.
  ProgressBar(std::string title, std::int64_t total);
  ~ProgressBar();

  /// Running means over the epoch; accuracy in percent.
  void update(std::int64_t items_done, double loss, double accuracy);
  /// Ends the line with the last figures.
  void finish();

 private:
  void draw(bool last);

  using Clock = std::chrono::steady_clock;
  std::string title_;
  std::int64_t total_, done_ = 0;
  double loss_ = 0, accuracy_ = 0;
  bool terminal_, finished_ = false;
  Clock::time_point start_ = Clock::now(), drawn_ = start_;
};

}  // namespace guide
