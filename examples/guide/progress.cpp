#include "examples/guide/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace guide {
namespace {

constexpr int kCells = 24;

double seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Eighths of a cell, so that the bar moves smoothly.
std::string bar(double share) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = std::clamp(static_cast<int>(share * kCells * 8), 0, kCells * 8);
  std::string cells;
  for (int i = 0; i < eighths / 8; ++i) cells += "█";
  cells += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 != 0);
  return cells + std::string(static_cast<std::size_t>(kCells - used), ' ');
}

}  // namespace

ProgressBar::ProgressBar(std::string title, std::int64_t total)
    : title_(std::move(title)), total_(total), terminal_(isatty(STDOUT_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (terminal_ && !finished_) std::puts("");
}

void ProgressBar::update(std::int64_t items_done, double loss, double accuracy) {
  done_ = items_done;
  loss_ = loss;
  accuracy_ = accuracy;
  const double pause = terminal_ ? 0.1 : 10;
  if (seconds(Clock::now() - drawn_) >= pause) draw(false);
}

void ProgressBar::finish() {
  draw(true);
  finished_ = true;
}

void ProgressBar::draw(bool last) {
  drawn_ = Clock::now();
  const double elapsed = std::max(seconds(drawn_ - start_), 1e-9), rate = static_cast<double>(done_) / elapsed;
  const double left = rate > 0 ? static_cast<double>(total_ - done_) / rate : 0;
  const std::string figures = fmt::format("{:6}/{} loss {:.4f} accuracy {:5.2f} % {:6.0f} images/s {} {:.0f} s", done_,
                                          total_, loss_, accuracy_, rate, last ? "in" : "ETA", last ? elapsed : left);
  if (terminal_)
    fmt::print("\r{} ▕{}▏{}\x1b[K{}", title_,
               bar(static_cast<double>(done_) / static_cast<double>(std::max<std::int64_t>(total_, 1))), figures,
               last ? "\n" : "");
  else fmt::print("{} {}\n", title_, figures);
  std::fflush(stdout);
}

}  // namespace guide
