#include "kiln/train/show/web.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/text.hpp"
#include "kiln/train/log/line_log.hpp"
#include "kiln/train/show/board.hpp"
#include "kiln/train/show/http.hpp"
#include "kiln/train/show/web_page.hpp"

namespace kiln {
namespace {

constexpr int kPause = 200;  // milliseconds between two messages

std::string list_of(const std::vector<std::string>& elements) {
  std::string list = "[";
  for (const std::string& element : elements) list += (list.size() > 1 ? "," : "") + element;
  return list + ']';
}

/// 128 random bits, as text.
std::string new_secret() {
  std::random_device random;
  std::string word;
  char digits[9];
  for (int i = 0; i < 4; ++i) {
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(random()));
    word += digits;
  }
  return word;
}

}  // namespace

struct WebDashboard::Shown {
  explicit Shown(const WebConfig& config)
      : secret(new_secret()), everywhere(config.everywhere), server(config.port, config.everywhere) {
    thread = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        server.serve(kPause, [this](const http::Request& request) { return answer(request); });
        send_news(false);
      }
      send_news(true);
      server.serve(0, [this](const http::Request& request) { return answer(request); });
    });
  }

  const std::string secret;  // part of the address, since the machine may have other users
  const bool everywhere;

  std::mutex mutex;  // protects what training writes and the thread sends: everything up to the server
  Board board;
  std::vector<std::string> new_points;  // since the last message
  std::int64_t told = 0;                // how many of the board's messages were sent
  bool changed = false;
  Interrupter control;

  http::Server server;
  std::chrono::steady_clock::time_point sent{};
  std::jthread thread;  // declared last, so that it ends before what it uses

  static std::string point(std::string_view split, std::string_view metric, double step, double value) {
    return text('[', json_text(split), ',', json_text(metric), ',', json_number(step), ',', json_number(value), ']');
  }
  /// The last `count` messages.
  std::string last_said(std::int64_t count) const {
    std::vector<std::string> sentences;
    const auto kept = std::min(count, std::ssize(board.said));
    for (auto at = board.said.end() - kept; at != board.said.end(); ++at) sentences.push_back(json_text(*at));
    return list_of(sentences);
  }
  template <class F>
  void change(F&& what) {
    const std::lock_guard lock(mutex);
    what();
    changed = true;
  }
  template <class Event>
  void notify(const Event& event) {
    change([&] { board.on(event); });
  }

  std::string state() const {
    const Progress& progress = board.progress;
    std::string rows;
    for (const Series* const row : board.histories.rows())
      rows += text(rows.empty() ? "" : ",", '[', json_text(row->split), ',', json_text(row->metric), ',',
                   json_number(row->last), ',', json_number(row->least), ',', json_number(row->greatest), ',',
                   row->measured(), row->words ? text(',', json_text(shown(*row->words))) : "", ']');
    return text("\"step\":", progress.at().step, ",\"epoch\":", json_text(progress.epoch_text()),
                ",\"epochShare\":", json_number(progress.epoch_share()), ",\"share\":", json_number(progress.share()),
                ",\"left\":", json_text(progress.share() > 0 ? duration_text(progress.seconds_left()) : ""),
                ",\"speed\":", json_number(progress.items_per_second()), ",\"rate\":", json_number(progress.rate()),
                ",\"machine\":", json_text(board.machine.line()), ",\"ended\":", json_text(board.ended), ",\"rows\":[",
                rows, ']');
  }
  /// The complete state, for a new page.
  std::string everything() {
    const std::lock_guard lock(mutex);
    std::vector<std::string> points;
    for (const Series& series : board.histories.all())
      for (const auto& p : series.points) points.push_back(point(series.split, series.metric, p.step, p.value));
    return text("{\"all\":true,", state(), ",\"points\":", list_of(points), ",\"said\":", last_said(board.sentences),
                '}');
  }
  /// Sends changes to the open pages; at most once per pause, unless `at_once`.
  void send_news(bool at_once) {
    const auto now = std::chrono::steady_clock::now();
    if (!at_once && now - sent < std::chrono::milliseconds(kPause)) return;
    std::string news;
    {
      const std::lock_guard lock(mutex);
      if (!std::exchange(changed, false)) return;
      const auto points = std::exchange(new_points, {});
      const std::int64_t new_said = board.sentences - std::exchange(told, board.sentences);
      if (server.streams() == 0) return;
      news = text('{', state(), ",\"points\":", list_of(points), ",\"said\":", last_said(new_said), '}');
    }
    sent = now;
    server.broadcast("news", news);
  }

  std::string root() const { return text('/', secret, '/'); }

  http::Response answer(const http::Request& request) {
    const bool get = request.method == "GET",
               known = http::are_same_secret(request.path.substr(0, root().size()), root());
    const std::string path = known ? request.path.substr(root().size() - 1) : "";
    if (get && path == "/") return {.type = "text/html; charset=utf-8", .body = std::string(kWebPage)};
    if (get && path == "/events") {
      send_news(true);  // to the other pages: the new page gets the complete state, and nothing twice
      return {.body = http::event_text("news", everything()), .stream = true};
    }
    if (path != "/stop" && path != "/save") return {.status = 404, .body = "there is no such page\n"};
    if (request.method != "POST") return {.status = 405, .body = "this is asked for by POST\n"};
    const bool stop = path == "/stop";
    change([&] {
      if (stop) control.stop("stopped by the web page");
      else control.save();
      board.say(stop ? "stops after this step" : "saves after this step");
    });
    return {.body = "it will\n"};
  }
};

WebDashboard::WebDashboard(const WebConfig& config) : shown_(std::make_unique<Shown>(config)) {}
WebDashboard::WebDashboard(WebDashboard&&) noexcept = default;
WebDashboard::~WebDashboard() = default;

std::string WebDashboard::address() const {
  char name[256] = "127.0.0.1";
  if (shown_->everywhere) ::gethostname(name, sizeof name - 1);
  return text("http://", name, ':', shown_->server.port(), shown_->root());
}

void WebDashboard::on(const training::Begin& begin) {
  std::printf("the training is shown on %s\n", address().c_str());
  std::fflush(stdout);
  shown_->change([&] {
    shown_->control = begin.control;
    shown_->board.histories = seen;
    shown_->board.on(begin);
  });
}
void WebDashboard::on(const training::Step& step) {
  seen.on(step);
  shown_->change([&] {
    shown_->board.on(step);
    const auto at = static_cast<double>(step.at.step);
    shown_->new_points.push_back(Shown::point("step", "loss", at, step.loss));
    for (std::size_t i = 0; i < step.rates.size(); ++i)
      shown_->new_points.push_back(Shown::point("step", training::rate_name(i), at, step.rates[i]));
  });
}
void WebDashboard::on(const training::Evaluation& evaluation) {
  seen.on(evaluation);
  shown_->change([&] {
    shown_->board.on(evaluation);
    for (const Reading& reading : evaluation.readings)
      shown_->new_points.push_back(
          Shown::point(evaluation.split, reading.name, static_cast<double>(evaluation.at.step), reading.value));
  });
}
void WebDashboard::on(const training::EpochEnd& end) { shown_->notify(end); }
void WebDashboard::on(const training::Saved& saved) { shown_->notify(saved); }
void WebDashboard::on(const training::Message& note) { shown_->notify(note); }
void WebDashboard::on(const training::RunEnd& ending) { shown_->notify(ending); }

}  // namespace kiln
