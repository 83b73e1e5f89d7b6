#include "kiln/train/log/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "kiln/core/text.hpp"
#include "kiln/train/log/files.hpp"

namespace kiln {
namespace {

/// A moving average of a speed over some seconds.
double smoothed(double before, double now, double seconds) {
  const double share = before > 0 ? 1 - std::exp(-seconds / 3) : 1;
  return before + share * (now - before);
}

}  // namespace

void Progress::on(const training::Begin& begin) {
  begin_ = begin;
  at_ = begin.at;
}

void Progress::on(const training::Step& step) {
  at_ = step.at;
  loss_ = step.loss;
  rate_ = step.rates.empty() ? 0 : step.rates[0];
  const double seconds = std::max(step.seconds, 1e-9);
  speed_ = smoothed(speed_, static_cast<double>(step.items) / seconds, seconds);
  steps_per_second_ = smoothed(steps_per_second_, 1 / seconds, seconds);
}

double Progress::epoch_share() const {
  return begin_.batches > 0 ? static_cast<double>(at_.batch) / static_cast<double>(begin_.batches) : 0;
}

double Progress::share() const {
  double share = 0;
  if (begin_.epochs) share = (static_cast<double>(at_.epoch) + epoch_share()) / static_cast<double>(*begin_.epochs);
  if (begin_.steps) share = std::max(share, static_cast<double>(at_.step) / static_cast<double>(*begin_.steps));
  if (begin_.seconds) share = std::max(share, at_.seconds / *begin_.seconds);
  return std::min(share, 1.0);
}

double Progress::seconds_left() const {
  double steps = std::numeric_limits<double>::infinity();
  if (begin_.steps) steps = static_cast<double>(*begin_.steps - at_.step);
  if (begin_.epochs) {
    const double all = static_cast<double>(*begin_.epochs), done = static_cast<double>(at_.epoch) + epoch_share();
    if (done > 0) steps = std::min(steps, static_cast<double>(at_.step) / done * (all - done));
  }
  double left = steps_per_second_ > 0 ? steps / steps_per_second_ : std::numeric_limits<double>::infinity();
  if (begin_.seconds) left = std::min(left, *begin_.seconds - at_.seconds);
  return std::isfinite(left) ? std::max(left, 0.0) : 0;
}

std::string Progress::epoch_text() const {
  return begin_.epochs ? text(std::min(at_.epoch + 1, *begin_.epochs), '/', *begin_.epochs) : text(at_.epoch + 1);
}

std::string bar(double share, int cells, bool plain) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = std::clamp(static_cast<int>(share * cells * 8), 0, cells * 8), rest = plain ? 0 : eighths % 8;
  std::string letters;
  for (int i = 0; i < eighths / 8; ++i) letters += plain ? "#" : "█";
  letters += kEighths[rest];
  return letters + std::string(static_cast<std::size_t>(cells - eighths / 8 - (rest != 0)), ' ');
}

std::string duration_text(double seconds) {
  const long long whole = seconds > 0 ? std::llround(std::min(seconds, 3.6e9)) : 0;  // 0 for NaN, too
  char words[48];
  if (whole >= 3600)
    std::snprintf(words, sizeof words, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  else std::snprintf(words, sizeof words, "%lld:%02lld", whole / 60, whole % 60);
  return words;
}

bool is_screen(std::FILE* file) {
  const char* const term = std::getenv("TERM");
  return ::isatty(::fileno(file)) != 0 && term && *term && std::string_view(term) != "dumb";
}

ProgressLines::ProgressLines(std::FILE* out) : out_(out), terminal_(is_screen(out)) {}
ProgressLines::~ProgressLines() { clear(); }
ProgressLines::ProgressLines(ProgressLines&& other) noexcept
    : out_(other.out_),
      terminal_(other.terminal_),
      drawn_(std::exchange(other.drawn_, false)),
      progress_(std::move(other.progress_)),
      last_(other.last_) {}

void ProgressLines::on(const training::Begin& begin) {
  progress_.on(begin);
  last_ = std::chrono::steady_clock::now();
}

void ProgressLines::on(const training::Step& step) {
  progress_.on(step);
  const auto now = std::chrono::steady_clock::now();
  if (std::chrono::duration<double>(now - last_).count() < (terminal_ ? 0.1 : 10)) return;
  last_ = now;
  draw();
}

void ProgressLines::on(const training::Evaluation& evaluation) {
  if (evaluation.complete)
    print(text("epoch ", progress_.epoch_text(), ", step ", evaluation.at.step, ", ", sentence_of(evaluation)));
}

void ProgressLines::on(const training::RunEnd& ending) {
  print(text("ends after step ", ending.at.step, ", ", duration_text(ending.at.seconds), ": ", ending.reason));
}

void ProgressLines::print(std::string_view line) {
  clear();
  std::fprintf(out_, "%.*s\n", static_cast<int>(line.size()), line.data());
  std::fflush(out_);
}

void ProgressLines::draw() {
  char figures[160];
  std::snprintf(figures, sizeof figures, "step %lld loss %.4f %.0f items/s ETA %s",
                static_cast<long long>(progress_.at().step), progress_.loss(), progress_.items_per_second(),
                duration_text(progress_.seconds_left()).c_str());
  if (!terminal_) return print(text("epoch ", progress_.epoch_text(), ' ', figures));
  std::fprintf(out_, "\repoch %s ▕%s▏%s\x1b[K", progress_.epoch_text().c_str(),
               bar(progress_.epoch_share(), 24).c_str(), figures);
  std::fflush(out_);
  drawn_ = true;
}

void ProgressLines::clear() {
  if (!std::exchange(drawn_, false)) return;
  std::fputs("\r\x1b[K", out_);
  std::fflush(out_);
}

}  // namespace kiln
