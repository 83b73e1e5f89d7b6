// A training in a browser: one page, served from the running program to this machine alone.
#pragma once
#include <memory>
#include <string>

#include "kiln/train/show/plot.hpp"

namespace kiln {

struct WebConfig {
  int port = 0;             // any that is free
  bool everywhere = false;  // to whoever can reach this machine; otherwise to its own users and programs
};

/// A callback: curves of all metrics, which the wheel zooms and the mouse draws along, best and last values, progress, what was
/// said, and buttons that stop and save. What happens is sent at most five times a second; the page needs nothing from elsewhere.
/// The address is printed when the training begins; a part of it is a secret, without which nobody sees, stops or saves
/// anything; the page is served until the callback goes. Checkpoints keep the curves.
/// Throws IoError where the port is taken, ArgumentError.
class WebDashboard {
 public:
  explicit WebDashboard(const WebConfig& config = {});
  ~WebDashboard();
  WebDashboard(WebDashboard&&) noexcept;

  /// "http://127.0.0.1:8080/9f86d081884c7d659a2feaa0c55ad015/"; everywhere the name of the machine is in it.
  std::string address() const;

  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::EpochEnd& end);
  void on(const training::Saved& saved);
  void on(const training::Note& note);
  void on(const training::Ending& ending);

  Histories seen;

 private:
  struct Shown;
  std::unique_ptr<Shown> shown_;
};

}  // namespace kiln
