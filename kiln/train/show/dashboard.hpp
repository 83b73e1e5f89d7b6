// Training on the whole screen of the terminal: curves, best and last values, progress, messages, and keys.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/train/show/board.hpp"
#include "kiln/train/show/terminal.hpp"

namespace kiln {

/// The part of a board that is shown.
struct View {
  std::size_t metric = 0;          // the one that is plotted
  int zoom = 0;                    // shows 1/2^zoom of the steps
  std::optional<double> middle{};  // the middle of the shown steps; none: the last ones

  void press(Press key, const Board& board);
  StepRange steps(const Board& board) const;
};

/// The lines for a screen of this size.
std::vector<std::string> screen_of(const Board& board, const View& view, ScreenSize size, bool colours = true);

/// A callback. Draws five times a second, and when a key is pressed, in a thread of its own. If the terminal is not
/// capable, it is a ProgressLines. Keys: left and right choose the metric, up and down zoom, < and > move back and
/// forward, s saves, q stops like Ctrl-C. When training ends, the screen is restored, and the best values are printed.
/// Checkpoints save the curves.
class Dashboard {
 public:
  Dashboard();
  ~Dashboard();
  Dashboard(Dashboard&&) noexcept;

  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
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
