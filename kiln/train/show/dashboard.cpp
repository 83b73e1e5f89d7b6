#include "kiln/train/show/dashboard.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/text.hpp"

namespace kiln {
namespace {

constexpr int kFrame = 200, kAfterKey = 100;  // milliseconds until the next frame

std::string row_text(const Series& row) {
  char words[160];
  std::snprintf(words, sizeof words, "%-8.8s %-24.24s ", row.split.c_str(), row.metric.c_str());
  std::string out = words;
  if (row.words) return out + clipped(shown(*row.words), 40);
  if (row.known) std::snprintf(words, sizeof words, "%12.6g", row.last);
  else std::snprintf(words, sizeof words, "%12s", "-");
  out += words;
  if (row.measured()) {
    std::snprintf(words, sizeof words, " %12.6g %12.6g", row.least, row.greatest);
    out += words;
  }
  return out;
}

struct Heading {
  const char* name;
  int width;  // negative: to the left
};
constexpr Heading kHeadings[] = {{"split", -8}, {"metric", -24}, {"last", 12}, {"least", 12}, {"greatest", 12}};

std::string heading(const View& view = {}) {
  std::string out;
  for (std::size_t i = 0; i < std::size(kHeadings); ++i) {
    const bool sorts = view.sorted_by == static_cast<TableColumn>(i);
    const std::string name = text(kHeadings[i].name, !sorts ? "" : view.falling ? "v" : "^");
    char words[64];
    std::snprintf(words, sizeof words, "%s%*s", i == 0 ? "" : " ", kHeadings[i].width, name.c_str());
    out += words;
  }
  return out;
}

/// How many characters a text has on the screen.
int letters(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

/// The lines that come before the plot, and where the table begins.
struct ScreenLayout {
  int tabs = 2, table = 0, rows = 0, said = 1, plot = 3;

  ScreenLayout(const Board& board, ScreenSize size) {
    tabs += !board.machine.line().empty();
    rows = static_cast<int>(board.histories.rows().size());
    const int of_table = rows == 0 ? 0 : rows + 1;
    said = std::clamp(size.height / 5, 1, 6);
    plot = std::max(size.height - (tabs + 1) - 2 - of_table - said, 3);
    table = tabs + 1 + (board.histories.metrics().empty() ? 0 : plot + 1);
  }
};

constexpr std::string_view kKeys = "arrows: metric, zoom   < >: move   m: smooth   l: log   s: save   q: stop";
constexpr std::string_view kQuestion = "stop?   s: save and stop   t: stop after this step, unsaved   g: go on";
constexpr std::string_view kLeave = "the training has ended   left, right: metric   m: smooth   l: log   q: leave";

}  // namespace

void View::press(Press key, const Board& board) {
  const std::size_t metrics = std::max<std::size_t>(board.histories.metrics().size(), 1);
  if (key == Press::Right) metric = (metric + 1) % metrics;
  if (key == Press::Smooth) {
    constexpr double kFactors[] = {0, 0.6, 0.9, 0.97};
    const auto* const next = std::ranges::upper_bound(kFactors, style.smoothing);
    style.smoothing = next == std::end(kFactors) ? 0 : *next;
  }
  if (key == Press::Log) style.logarithmic = !style.logarithmic;
  if (key == Press::Left) metric = (metric + metrics - 1) % metrics;
  if (key == Press::Up || key == Press::WheelUp) zoom = std::min(zoom + 1, 10);
  if (key == Press::Down || key == Press::WheelDown) zoom = std::max(zoom - 1, 0);
  if (key != Press::Back && key != Press::Forward) return;
  const double last = static_cast<double>(board.progress.at().step), half = last / (2 << zoom);
  middle = std::max(middle.value_or(last - half) + (key == Press::Back ? -half : half), half);
  if (*middle + half >= last) middle.reset();
}

void View::choose(const ScreenTarget& target, const Board& board) {
  if (target.kind == ScreenTarget::Kind::Tab) {
    metric = target.index;
  } else if (target.kind == ScreenTarget::Kind::Row) {
    const auto metrics = board.histories.metrics();
    const auto found = std::ranges::find(metrics, rows(board).at(target.index)->metric);
    if (found != metrics.end()) metric = static_cast<std::size_t>(found - metrics.begin());
  } else if (const auto column = static_cast<TableColumn>(target.index); sorted_by != column) {
    sorted_by = column;
    falling = false;
  } else if (!falling) {
    falling = true;
  } else {
    sorted_by.reset();
    falling = false;
  }
}

std::vector<const Series*> View::rows(const Board& board) const {
  auto rows = board.histories.rows();
  if (!sorted_by) return rows;
  const auto sort_by = [&](auto key) {
    std::ranges::stable_sort(
        rows, [&](const Series* a, const Series* b) { return falling ? key(*b) < key(*a) : key(*a) < key(*b); });
  };
  // A row without a number comes last.
  const auto number = [&](bool known, double value) {
    return std::pair((known && !std::isnan(value)) == falling, std::isnan(value) ? 0 : value);
  };
  switch (*sorted_by) {
    case TableColumn::Split: sort_by([](const Series& s) { return s.split; }); break;
    case TableColumn::Metric: sort_by([](const Series& s) { return s.metric; }); break;
    case TableColumn::Last: sort_by([&](const Series& s) { return number(s.known, s.last); }); break;
    case TableColumn::Least: sort_by([&](const Series& s) { return number(s.measured(), s.least); }); break;
    case TableColumn::Greatest: sort_by([&](const Series& s) { return number(s.measured(), s.greatest); }); break;
  }
  return rows;
}

std::optional<ScreenTarget> target_at(const Board& board, ScreenSize size, ScreenPlace place) {
  using Kind = ScreenTarget::Kind;
  const ScreenLayout layout(board, size);
  const bool is_inside =
      place.row >= 0 && place.row < size.height - 1 && place.column >= 0 && place.column < size.width;
  if (!is_inside) return std::nullopt;
  if (place.row == layout.tabs) {
    const auto metrics = board.histories.metrics();
    for (std::size_t i = 0, end = 0; i < metrics.size(); ++i)
      if (place.column < static_cast<int>(end += static_cast<std::size_t>(letters(metrics[i]) + 2)))
        return ScreenTarget{Kind::Tab, i};
  }
  if (layout.rows == 0) return std::nullopt;
  if (place.row == layout.table) {
    int end = -1;
    for (std::size_t i = 0; i < std::size(kHeadings); ++i)
      if (place.column < (end += std::abs(kHeadings[i].width) + 1)) return ScreenTarget{Kind::Heading, i};
  }
  const int row = place.row - layout.table - 1;
  if (row < 0 || row >= layout.rows) return std::nullopt;
  return ScreenTarget{Kind::Row, static_cast<std::size_t>(row)};
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

  const auto rows = view.rows(board);
  const ScreenLayout layout(board, size);
  if (!metrics.empty()) {
    const auto series = board.histories.of(metrics[chosen]);
    for (auto& line : plot(series, size.width, layout.plot, view.steps(board), colours, {}, view.style))
      lines.push_back(std::move(line));
    std::string legend(11, ' ');
    for (const Series* const s : series) legend += styled(text(colour_of(s->split)), "━ " + s->split) + "  ";
    if (view.style.smoothing > 0) legend += text("  smoothed by ", view.style.smoothing);
    if (view.style.logarithmic) legend += "  log scale";
    lines.push_back(legend);
  }
  if (!rows.empty()) lines.push_back(styled("1", heading(view)));
  for (const Series* const row : rows) lines.push_back(row_text(*row));
  const auto said = static_cast<std::size_t>(layout.said);
  const std::size_t first = board.said.size() > said ? board.said.size() - said : 0;
  for (std::size_t i = first; i < board.said.size(); ++i) lines.push_back(styled("2", board.said[i]));
  lines.resize(static_cast<std::size_t>(std::max(size.height - 1, 0)));
  lines.push_back(view.asks ? styled("7", std::string(kQuestion))
                            : styled("2", std::string(board.ended.empty() ? kKeys : kLeave)));
  return lines;
}

struct Dashboard::Shown {
  std::optional<ProgressLines> plain;
  std::mutex mutex;
  Board board;
  View view;
  Interrupter control;
  DashboardOptions options;
  bool waits = false, leaves = false;  // after training
  std::condition_variable left;
  std::optional<Terminal> terminal;
  std::jthread thread;  // declared last, so that it ends before what it uses

  void begin(const training::Begin& begin, const Histories& seen) {
    if (!Terminal::available()) {
      plain.emplace();
      return plain->on(begin);
    }
    control = begin.control;
    waits = leaves = false;
    board.histories = seen;
    board.on(begin);
    terminal.emplace();
    thread = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) show(terminal->key(kFrame));
    });
  }
  void show(Press key) {
    std::vector<std::string> lines;
    {
      const std::lock_guard lock(mutex);
      for (Press next = key; next != Press::None; next = terminal->next_key()) press(next);
      lines = screen_of(board, view, terminal->size());
      if (waits && terminal->is_closed()) leaves = true;
    }
    left.notify_all();
    terminal->draw(std::move(lines));
    std::this_thread::sleep_for(std::chrono::milliseconds(key == Press::None ? 0 : kAfterKey));
  }
  /// The mutex is locked.
  void press(Press key) {
    const bool turns_or_releases = key == Press::WheelUp || key == Press::WheelDown || key == Press::Mouse;
    if (view.asks && turns_or_releases) return;
    if (key == Press::Click) {
      const auto target = target_at(board, terminal->size(), terminal->clicked());
      if (target) view.choose(*target, board);
    } else if (waits) {
      leaves = leaves || key == Press::Stop;
    } else if (std::exchange(view.asks, false)) {
      const bool saves = key == Press::Save || key == Press::Stop;
      if (saves || key == Press::Unsaved) {
        control.stop(saves ? "stopped by the key q" : "stopped by the key q, without saving", saves);
        board.say(control.saves_end() ? "saves and stops after this step" : "stops after this step, and saves nothing");
      }
    } else if (key == Press::Stop) {
      view.asks = true;
    } else if (key == Press::Save) {
      control.save();
    }
    view.press(key, board);
  }
  /// Until the key q is pressed, the terminal is gone, or a signal asks for the end.
  void wait() {
    std::unique_lock lock(mutex);
    waits = true;
    view.asks = false;
    const bool asked = control.should_stop();
    while (!leaves && (asked || !control.should_stop())) left.wait_for(lock, std::chrono::milliseconds(kFrame));
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

Dashboard::Dashboard(DashboardOptions options) : shown_(std::make_unique<Shown>()) { shown_->options = options; }
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
  if (shown_->options.stays && shown_->terminal) shown_->wait();
  shown_->end();
  std::printf("ends after step %lld, %s: %s\n", static_cast<long long>(ending.at.step),
              duration_text(ending.at.seconds).c_str(), ending.reason.c_str());
}

}  // namespace kiln
