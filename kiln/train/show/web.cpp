#include "kiln/train/show/web.hpp"

#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kiln/core/text.hpp"
#include "kiln/train/log/line_log.hpp"
#include "kiln/train/log/progress.hpp"
#include "kiln/train/show/http.hpp"
#include "kiln/train/show/plot.hpp"
#include "kiln/train/show/web_page.hpp"

namespace kiln {
namespace {

constexpr int kPause = 100;  // milliseconds between two messages
constexpr std::size_t kSaid = 200;

std::string list_of(const std::vector<std::string>& elements) {
  std::string list = "[";
  for (const std::string& element : elements) list += (list.size() > 1 ? "," : "") + element;
  return list + ']';
}

}  // namespace

struct WebDashboard::Shown {
  explicit Shown(const WebConfig& config) : server(config.port, config.everywhere) {
    thread = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        server.serve(kPause, [this](const http::Request& request) { return answer(request); });
        send_news(false);
      }
      send_news(true);
      server.serve(0, [this](const http::Request& request) { return answer(request); });
    });
  }

  std::mutex mutex;  // over what the training writes and the thread sends
  Progress progress;
  Histories histories;
  std::deque<std::string> said;
  std::vector<std::string> new_points, new_said;  // since the last message
  std::string ended;
  bool changed = false;
  Interrupter control;

  http::Server server;
  std::chrono::steady_clock::time_point sent{};
  std::jthread thread;  // last, so that it ends before what it uses

  static std::string point(std::string_view split, std::string_view metric, double step, double value) {
    return text('[', json_text(split), ',', json_text(metric), ',', json_number(step), ',', json_number(value), ']');
  }
  void say(std::string sentence) {
    said.push_back(json_text(text(time_stamp(), ' ', sentence)));
    new_said.push_back(said.back());
    if (said.size() > kSaid) said.pop_front();
  }
  template <class F>
  void take(F&& change) {
    const std::lock_guard lock(mutex);
    change();
    changed = true;
  }

  std::string state() const {
    std::string rows;
    for (const auto& row : progress.rows())
      rows += text(rows.empty() ? "" : ",", '[', json_text(row.split), ',', json_text(row.metric), ',',
                   json_number(row.last), ',', json_number(row.least), ',', json_number(row.greatest), ',',
                   row.measured, ']');
    return text("\"step\":", progress.at().step, ",\"epoch\":", json_text(progress.epoch_text()),
                ",\"epochShare\":", json_number(progress.epoch_share()), ",\"share\":", json_number(progress.share()),
                ",\"left\":", json_text(progress.share() > 0 ? duration_text(progress.seconds_left()) : ""),
                ",\"speed\":", json_number(progress.items_per_second()), ",\"rate\":", json_number(progress.rate()),
                ",\"ended\":", json_text(ended), ",\"rows\":[", rows, ']');
  }
  /// All that there is, for a page that has nothing yet.
  std::string everything() {
    const std::lock_guard lock(mutex);
    std::vector<std::string> points;
    for (const Series& series : histories.all())
      for (const auto& p : series.points) points.push_back(point(series.split, series.metric, p.step, p.value));
    return text("{\"all\":true,", state(), ",\"points\":", list_of(points),
                ",\"said\":", list_of({said.begin(), said.end()}), '}');
  }
  /// To the pages that are open; not sooner than a pause after the last time, unless `at_once`.
  void send_news(bool at_once) {
    const auto now = std::chrono::steady_clock::now();
    if (!at_once && now - sent < std::chrono::milliseconds(kPause)) return;
    std::string news;
    {
      const std::lock_guard lock(mutex);
      if (!std::exchange(changed, false)) return;
      const auto points = std::exchange(new_points, {}), sentences = std::exchange(new_said, {});
      if (server.streams() == 0) return;
      news = text('{', state(), ",\"points\":", list_of(points), ",\"said\":", list_of(sentences), '}');
    }
    sent = now;
    server.broadcast("news", news);
  }

  http::Response answer(const http::Request& request) {
    const bool get = request.method == "GET";
    if (get && request.path == "/") return {.type = "text/html; charset=utf-8", .body = std::string(kWebPage)};
    if (get && request.path == "/events") {
      send_news(true);  // to the other pages: what follows is all that there is, and nothing twice
      return {.body = http::event_text("news", everything()), .stream = true};
    }
    if (request.path != "/stop" && request.path != "/save") return {.status = 404, .body = "there is no such page\n"};
    if (request.method != "POST") return {.status = 405, .body = "this is asked for by POST\n"};
    if (request.path == "/stop") control.stop("stopped by the web page");
    else control.save();
    take([&] { say(request.path == "/stop" ? "stops after this step" : "saves after this step"); });
    return {.body = "it will\n"};
  }
};

WebDashboard::WebDashboard(const WebConfig& config) : shown_(std::make_unique<Shown>(config)) {}
WebDashboard::WebDashboard(WebDashboard&&) noexcept = default;
WebDashboard::~WebDashboard() = default;

std::string WebDashboard::address() const { return text("http://127.0.0.1:", shown_->server.port(), '/'); }

void WebDashboard::on(const training::Begin& begin) {
  std::printf("the training is shown on %s\n", address().c_str());
  std::fflush(stdout);
  shown_->take([&] {
    shown_->control = begin.control;
    shown_->ended.clear();
    shown_->progress.on(begin);
    shown_->say(text("begins: ", begin.parameters, " parameters, ", begin.batches, " batches an epoch"));
  });
}
void WebDashboard::on(const training::Step& step) {
  shown_->take([&] {
    shown_->progress.on(step);
    shown_->histories.on(step);
    const auto at = static_cast<double>(step.at.step);
    shown_->new_points.push_back(Shown::point("step", "loss", at, step.loss));
    if (!step.rates.empty()) shown_->new_points.push_back(Shown::point("step", "rate", at, step.rates[0]));
  });
}
void WebDashboard::on(const training::Evaluation& evaluation) {
  shown_->take([&] {
    shown_->progress.on(evaluation);
    shown_->histories.on(evaluation);
    for (const Reading& reading : evaluation.readings)
      shown_->new_points.push_back(
          Shown::point(evaluation.split, reading.name, static_cast<double>(evaluation.at.step), reading.value));
  });
}
void WebDashboard::on(const training::EpochEnd& end) {
  shown_->take([&] { shown_->progress.on(end); });
}
void WebDashboard::on(const training::Saved& saved) {
  shown_->take([&] { shown_->say(text("saves ", saved.path)); });
}
void WebDashboard::on(const training::Note& note) {
  shown_->take([&] { shown_->say(note.text); });
}
void WebDashboard::on(const training::Ending& ending) {
  shown_->take([&] {
    shown_->ended = ending.reason;
    shown_->say(text("ends after step ", ending.at.step, ": ", ending.reason));
  });
}

}  // namespace kiln
