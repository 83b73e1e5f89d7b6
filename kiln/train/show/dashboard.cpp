#include "kiln/train/show/dashboard.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "kiln/core/text.hpp"

namespace kiln {
namespace {

constexpr int kFrame = 200, kAfterKey = 100;  // milliseconds until the next frame

std::string row_text(const Series& row) {
  char words[160];
  std::snprintf(words, sizeof words, "%-8.8s %-24.24s ", row.split.c_str(), row.metric.c_str());
  std::string out = words;
  if (row.known) std::snprintf(words, sizeof words, "%12.6g", row.last);
  else std::snprintf(words, sizeof words, "%12s", "-");
  out += words;
  if (row.measured()) {
    std::snprintf(words, sizeof words, " %12.6g %12.6g", row.least, row.greatest);
    out += words;
  }
  return out;
}

std::string heading() {
  char words[96];
  std::snprintf(words, sizeof words, "%-8s %-24s %12s %12s %12s", "split", "metric", "last", "least", "greatest");
  return words;
}

}  // namespace

void View::press(Press key, const Board& board) {
  const std::size_t metrics = std::max<std::size_t>(board.histories.metrics().size(), 1);
  if (key == Press::Right) metric = (metric + 1) % metrics;
  if (key == Press::Left) metric = (metric + metrics - 1) % metrics;
  if (key == Press::Up) zoom = std::min(zoom + 1, 10);
  if (key == Press::Down) zoom = std::max(zoom - 1, 0);
  if (key != Press::Back && key != Press::Forward) return;
  const double last = static_cast<double>(board.progress.at().step), half = last / (2 << zoom);
  middle = std::max(middle.value_or(last - half) + (key == Press::Back ? -half : half), half);
  if (*middle + half >= last) middle.reset();
}

StepRange View::steps(const Board& board) const {
  const double last = static_cast<double>(board.progress.at().step), width = last / (1 << zoom);
  if (!middle) return {.from = last - width};
  const double to = std::clamp(*middle + width / 2, width, last);
  return {to - width, to};
}

std::vector<std::string> screen_of(const Board& board, const View& view, ScreenSize size, bool colours) {
  const Progress& progress = board.progress;
  const auto styled = [&](std::string_view style, const std::string& words) {
    return colours ? text("\x1b[", style, 'm', words, "\x1b[0m") : words;
  };
  const int cells = std::clamp(size.width / 4, 8, 40);
  char words[200];
  std::vector<std::string> lines;
  std::snprintf(words, sizeof words, "epoch %s  step %lld  loss %.5g  rate %.3g  %.0f items/s",
                progress.epoch_text().c_str(), static_cast<long long>(progress.at().step), progress.loss(),
                progress.rate(), progress.items_per_second());
  lines.push_back(styled("1", words));
  lines.push_back(text("epoch ▕", bar(progress.epoch_share(), cells), "▏  all ▕", bar(progress.share(), cells), "▏  ",
                       duration_text(progress.at().seconds), ", ", duration_text(progress.seconds_left()), " left"));

  if (!board.machine.line().empty()) lines.push_back(board.machine.line());

  const auto metrics = board.histories.metrics();
  const std::size_t chosen = metrics.empty() ? 0 : view.metric % metrics.size();
  std::string tabs;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    tabs += i == chosen ? styled("7", text(' ', metrics[i], ' ')) : text(' ', metrics[i], ' ');
  lines.push_back(tabs);

  const auto rows = board.histories.rows();
  const int table = rows.empty() ? 0 : static_cast<int>(rows.size()) + 1;
  const int said = std::clamp(size.height / 5, 1, 6);
  const int height = std::max(size.height - static_cast<int>(lines.size()) - 2 - table - said, 3);
  if (!metrics.empty()) {
    const auto series = board.histories.of(metrics[chosen]);
    for (auto& line : plot(series, size.width, height, view.steps(board), colours)) lines.push_back(std::move(line));
    std::string legend(11, ' ');
    for (const Series* const s : series) legend += styled(text(colour_of(s->split)), "━ " + s->split) + "  ";
    lines.push_back(legend);
  }
  if (table > 0) lines.push_back(styled("1", heading()));
  for (const Series* const row : rows) lines.push_back(row_text(*row));
  const auto first =
      board.said.size() > static_cast<std::size_t>(said) ? board.said.size() - static_cast<std::size_t>(said) : 0;
  for (std::size_t i = first; i < board.said.size(); ++i) lines.push_back(styled("2", board.said[i]));
  lines.resize(static_cast<std::size_t>(std::max(size.height - 1, 0)));
  lines.push_back(
      styled("2", "left, right: metric   up, down: zoom   < >: back, forward   s: save   q: stop   Ctrl-C twice: end"));
  return lines;
}

struct Dashboard::Shown {
  std::optional<ProgressLines> plain;
  std::mutex mutex;
  Board board;
  View view;
  Interrupter control;
  std::optional<Terminal> terminal;
  std::jthread thread;  // declared last, so that it ends before what it uses

  void begin(const training::Begin& begin, const Histories& seen) {
    if (!Terminal::available()) {
      plain.emplace();
      return plain->on(begin);
    }
    control = begin.control;
    board.histories = seen;
    board.on(begin);
    terminal.emplace();
    thread = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) show(terminal->key(kFrame));
    });
  }
  void show(Press key) {
    if (key == Press::Stop) control.stop("stopped by the key q");
    if (key == Press::Save) control.save();
    std::vector<std::string> lines;
    {
      const std::lock_guard lock(mutex);
      if (key == Press::Stop) board.say("stops after this step");
      view.press(key, board);
      lines = screen_of(board, view, terminal->size());
    }
    terminal->draw(std::move(lines));
    std::this_thread::sleep_for(std::chrono::milliseconds(key == Press::None ? 0 : kAfterKey));
  }
  void end() {
    if (!terminal) return;
    thread = {};
    terminal.reset();
    const auto rows = board.histories.rows();
    if (!rows.empty()) std::printf("%s\n", heading().c_str());
    for (const Series* const row : rows) std::printf("%s\n", row_text(*row).c_str());
    std::fflush(stdout);
  }
  template <class Event>
  void notify(const Event& event) {
    if (plain) {
      if constexpr (requires { plain->on(event); }) plain->on(event);
      return;
    }
    const std::lock_guard lock(mutex);
    board.on(event);
  }
};

Dashboard::Dashboard() : shown_(std::make_unique<Shown>()) {}
Dashboard::Dashboard(Dashboard&&) noexcept = default;
Dashboard::~Dashboard() {
  if (shown_) shown_->end();
}

void Dashboard::on(const training::Begin& begin) {
  shown_->end();
  shown_->begin(begin, seen);
}
void Dashboard::on(const training::Step& step) {
  seen.on(step);
  shown_->notify(step);
}
void Dashboard::on(const training::Evaluation& evaluation) {
  seen.on(evaluation);
  shown_->notify(evaluation);
}
void Dashboard::on(const training::EpochEnd& end) { shown_->notify(end); }
void Dashboard::on(const training::Saved& saved) { shown_->notify(saved); }
void Dashboard::on(const training::Message& note) { shown_->notify(note); }
void Dashboard::on(const training::RunEnd& ending) {
  shown_->notify(ending);
  if (shown_->plain) return;
  shown_->end();
  std::printf("ends after step %lld, %s: %s\n", static_cast<long long>(ending.at.step),
              duration_text(ending.at.seconds).c_str(), ending.reason.c_str());
}

}  // namespace kiln
