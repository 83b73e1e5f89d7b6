#include "kiln/train/show/web.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/text.hpp"
#include "kiln/net/events.hpp"
#include "kiln/net/server.hpp"
#include "kiln/train/log/line_log.hpp"
#include "kiln/train/show/board.hpp"
#include "kiln/train/show/flatten.hpp"
#include "kiln/train/show/page.hpp"
#include "kiln/train/show/page_server.hpp"

namespace kiln {
namespace {

constexpr std::chrono::milliseconds kPause(200);  // between two messages
constexpr double kFarewell = 0.5;                 // seconds for pages to take the last one

std::string list_of(const std::vector<std::string>& elements) {
  std::string list = "[";
  for (const std::string& element : elements) list += (list.size() > 1 ? "," : "") + element;
  return list + ']';
}

}  // namespace

struct WebDashboard::Shown {
  explicit Shown(const WebConfig& given)
      : config(given),
        parameters(json_of(flattened(given.configuration))),
        server(page::server_options(given),
               net::Routes().otherwise([this](const net::Request& request) { return answer(request); })) {
    thread = std::jthread([this](const std::stop_token& stop) {
      std::unique_lock lock(mutex);
      while (!pause.wait_for(lock, stop, kPause, [] { return false; }) && !stop.stop_requested()) send_news();
    });
  }
  ~Shown() {
    thread = {};
    {
      const std::lock_guard lock(mutex);
      send_news();
    }
    events.finish(kFarewell);
  }

  const WebConfig config;
  const std::string root = page::new_root(), parameters;  // a JSON object

  std::mutex mutex;  // protects what training writes and others send: everything up to the server
  Board board;
  std::vector<std::string> new_points, new_system, new_shown;  // since the last message
  std::map<std::string, std::string> figures;
  std::int64_t told = 0;  // how many of the board's messages were sent
  bool changed = false;
  Interrupter control;

  net::Events events;
  net::Server server;
  std::condition_variable_any pause;
  std::jthread thread;

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
  /// The figure replaces an earlier one of that kind and name for pages that are opened later.
  void show(std::string_view kind, const std::string& name, std::int64_t step, std::string_view content) {
    const std::string entry = text("[", json_text(kind), ',', json_text(name), ',', step, ',', content, ']');
    new_shown.push_back(entry);
    figures.insert_or_assign(text(kind, '/', name), entry);
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
  std::string everything() const {
    const auto points_of = [](const std::vector<Series>& all) {
      std::vector<std::string> points;
      for (const Series& series : all)
        for (const auto& p : series.points) points.push_back(point(series.split, series.metric, p.step, p.value));
      return list_of(points);
    };
    std::vector<std::string> shown;
    for (const auto& [name, figure] : figures) shown.push_back(figure);
    return text("{\"all\":true,\"parameters\":", parameters, ',', state(),
                ",\"points\":", points_of(board.histories.all()), ",\"system\":", points_of(board.system),
                ",\"shown\":", list_of(shown), ",\"said\":", last_said(board.sentences), '}');
  }
  /// Sends changes to the open pages.
  void send_news() {
    if (!std::exchange(changed, false)) return;
    const auto points = std::exchange(new_points, {}), figures_now = std::exchange(new_shown, {});
    const auto of_system = std::exchange(new_system, {});
    const std::int64_t new_said = board.sentences - std::exchange(told, board.sentences);
    if (events.streams() == 0) return;
    events.send("news", text('{', state(), ",\"points\":", list_of(points), ",\"system\":", list_of(of_system),
                             ",\"shown\":", list_of(figures_now), ",\"said\":", last_said(new_said), '}'));
  }

  net::Response answer(const net::Request& request) {
    const bool get = request.method == "GET";
    const std::string path = page::below(root, request.path);
    if (get)
      if (auto file = page::answer(path)) return *std::move(file);
    if (get && path == "/events") {
      const std::lock_guard lock(mutex);
      send_news();  // to the other pages: the new page gets the complete state, and nothing twice
      return {.events = events.subscribe(net::event_text("news", everything()))};
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

std::string WebDashboard::address() const { return page::address(shown_->config, shown_->server.port(), shown_->root); }

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
    const auto at = static_cast<double>(step.at.step);
    if (shown_->board.on(step))
      for (const auto& [name, value] : shown_->board.machine.values())
        shown_->new_system.push_back(Shown::point("system", name, at, value));
    shown_->new_points.push_back(Shown::point("step", "loss", at, step.loss));
    for (std::size_t i = 0; i < step.rates.size(); ++i)
      shown_->new_points.push_back(Shown::point("step", training::rate_name(i), at, step.rates[i]));
  });
}
void WebDashboard::on(const training::Evaluation& evaluation) {
  seen.on(evaluation);
  shown_->change([&] {
    shown_->board.on(evaluation);
    for (const Reading& reading : evaluation.readings) {
      shown_->new_points.push_back(
          Shown::point(evaluation.split, reading.name, static_cast<double>(evaluation.at.step), reading.value));
      if (reading.matrix)
        shown_->show("matrix", text(evaluation.split, ' ', reading.name), evaluation.at.step, json_of(*reading.matrix));
    }
  });
}
void WebDashboard::on(const training::Distribution& values) {
  shown_->change([&] { shown_->show("histogram", values.name, values.at.step, json_of(values.histogram)); });
}
void WebDashboard::on(const training::Drawing& drawing) {
  shown_->change([&] { shown_->show("picture", drawing.name, drawing.at.step, json_of(drawing.picture)); });
}
void WebDashboard::on(const training::EpochEnd& end) { shown_->notify(end); }
void WebDashboard::on(const training::Saved& saved) { shown_->notify(saved); }
void WebDashboard::on(const training::Message& note) { shown_->notify(note); }
void WebDashboard::on(const training::RunEnd& ending) { shown_->notify(ending); }

}  // namespace kiln
