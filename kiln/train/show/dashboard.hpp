// Training on the whole screen of the terminal: curves, best and last values, progress, messages, and keys.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/train/show/board.hpp"
#include "kiln/train/show/terminal.hpp"

namespace kiln {

enum class TableColumn { Split, Metric, Last, Least, Greatest };

/// A part of the screen that may be clicked.
struct ScreenTarget {
  enum class Kind { Tab, Heading, Row } kind = Kind::Tab;
  std::size_t index = 0;  // of the metric, the TableColumn, or the row
};

/// The part of a board that is shown.
struct View {
  std::size_t metric = 0;                  // the one that is plotted
  int zoom = 0;                            // shows 1/2^zoom of the steps
  std::optional<double> middle{};          // the middle of the shown steps; none: the last ones
  std::optional<TableColumn> sorted_by{};  // none: in the order in which the rows came
  bool falling = false;                    // the largest first
  bool asks = false;                       // whether to stop
  PlotStyle style{.numbered = true};

  void press(Press key, const Board& board);
  /// Does what a click on the target means.
  void choose(const ScreenTarget& target, const Board& board);
  StepRange steps(const Board& board) const;
  /// The rows of the table in their order.
  std::vector<const Series*> rows(const Board& board) const;
};

/// The lines for a screen of this size.
std::vector<std::string> screen_of(const Board& board, const View& view, ScreenSize size, bool colours = true);
/// The part under a place of such a screen; most places have none.
std::optional<ScreenTarget> target_at(const Board& board, ScreenSize size, ScreenPlace place);

struct DashboardOptions {
  bool stays = false;  // after training, until the key q is pressed
};

/// A callback. Draws five times a second, and when a key is pressed, in a thread of its own. If the terminal is not
/// capable, it is a ProgressLines. Keys: left and right choose the metric, up and down zoom, < and > move back and
/// forward, m smooths the curves (more at each press, and in the end not at all), l has their values on a log scale, s
/// saves, q asks whether to save and stop, to stop without saving, or to go on. The mouse chooses metrics (their names,
/// rows of the table) and the order of the table (its headings), its wheel zooms. When training ends, the screen is
/// restored, and the best values are printed; with `stays` that waits until q is pressed, and so does the training's
/// fit(). Checkpoints save the curves.
class Dashboard {
 public:
  explicit Dashboard(DashboardOptions options = {});
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
