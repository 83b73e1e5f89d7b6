// A training in a browser: one page, served from the running program to this machine alone.
#pragma once
#include <memory>
#include <string>

#include "kiln/train/events.hpp"

namespace kiln {

struct WebConfig {
  int port = 0;             // any that is free
  bool everywhere = false;  // to whoever can reach this machine; such readers can stop the training, too
};

/// A callback: curves of all metrics, best and last values, progress, what was said, and buttons that stop and save. What
/// happens is sent at most ten times a second; the page needs nothing from elsewhere. The address is printed when the training
/// begins; the page is served until the callback goes. Throws IoError where the port is taken, ArgumentError.
class WebDashboard {
 public:
  explicit WebDashboard(const WebConfig& config = {});
  ~WebDashboard();
  WebDashboard(WebDashboard&&) noexcept;

  /// "http://127.0.0.1:8080/"
  std::string address() const;

  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::EpochEnd& end);
  void on(const training::Saved& saved);
  void on(const training::Note& note);
  void on(const training::Ending& ending);

 private:
  struct Shown;
  std::unique_ptr<Shown> shown_;
};

}  // namespace kiln
