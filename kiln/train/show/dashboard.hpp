// A training on the terminal's whole screen: curves, best and last values, progress, what was said, and keys.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/train/show/board.hpp"
#include "kiln/train/show/terminal.hpp"

namespace kiln {

/// What of a board is looked at.
struct View {
  std::size_t metric = 0;          // that is plotted
  int zoom = 0;                    // 1/2^zoom of the steps
  std::optional<double> middle{};  // of them; otherwise the last, whatever comes

  void press(Press key, const Board& board);
  StepRange steps(const Board& board) const;
};

/// The lines of a screen of this size.
std::vector<std::string> screen_of(const Board& board, const View& view, ScreenSize size, bool colours = true);

/// A callback. Draws five times a second, and when a key is pressed, in a thread of its own. Where the terminal cannot show
/// it, it is a ProgressLines. Keys: left and right choose the metric, up and down zoom, < and > go back and forward, s saves,
/// q stops as Ctrl-C does. When the training ends, the screen is as it was, and the best values are printed. Checkpoints keep
/// the curves.
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
  void on(const training::Note& note);
  void on(const training::Ending& ending);

  Histories seen;

 private:
  struct Shown;
  std::unique_ptr<Shown> shown_;
};

}  // namespace kiln
