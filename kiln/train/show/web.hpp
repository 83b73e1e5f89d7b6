// Training in a browser: one page, served by the running program, by default to this machine only.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "kiln/core/config/json.hpp"
#include "kiln/net/options.hpp"
#include "kiln/train/show/plot.hpp"

namespace kiln {

struct WebConfig {
  int port = 0;             // 0: a free one
  bool everywhere = false;  // to all who can reach this machine; otherwise to its own users and programs
  std::optional<net::TlsOptions> tls = {};  // with a certificate and its key: https
  Json configuration = {};                  // of the run: its hyper-parameters
};

/// A callback: curves of all metrics with the values under the cursor, smoothed and on a log scale if wanted, which the
/// wheel zooms, the mouse drags and buttons save as CSV and PNG; best and last values, progress, histograms, confusion
/// matrices, pictures, hyper-parameters, the machine, messages, and buttons that stop and save. Changes are sent at most
/// five times a second; the page loads nothing from elsewhere. The address is printed when training begins; it contains
/// a secret, without which one cannot see, stop or save anything; the page is served until the callback is destroyed.
/// Checkpoints save the curves. Throws IoError if the port is taken, or in a build without Boost and OpenSSL;
/// ArgumentError.
class WebDashboard {
 public:
  explicit WebDashboard(const WebConfig& config = {});
  ~WebDashboard();
  WebDashboard(WebDashboard&&) noexcept;

  /// "http://127.0.0.1:8080/9f86d081884c7d659a2feaa0c55ad015/"; with `everywhere` it has the machine's name.
  std::string address() const;

  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::Distribution& values);
  void on(const training::Drawing& drawing);
  void on(const training::EpochEnd& end);
  void on(const training::Saved& saved);
  void on(const training::Message& note);
  void on(const training::RunEnd& ending);

  Histories seen;

 private:
  struct Shown;
  std::unique_ptr<Shown> shown_;
};

}  // namespace kiln
