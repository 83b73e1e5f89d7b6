// Curves of metrics, as text: each character is two by four dots of braille.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/train/events.hpp"

namespace kiln {

/// The values of a split's metric at the steps where it was measured; of very many only every second, fourth, ... one.
struct Series {
  struct Point {
    double step = 0, value = 0;
  };
  std::string split, metric;
  std::vector<Point> points{};
  std::int64_t every = 1, seen = 0;

  // Tables show the last, the smallest and the largest value of complete evaluations; NaN if there was none. Incomplete
  // evaluations count as long as there are no others.
  double last = std::numeric_limits<double>::quiet_NaN(), least = last, greatest = last;
  bool known = false;                  // `last` is a measured value
  std::optional<std::string> words{};  // the last words of a metric that says such; checkpoints do not keep them
  bool measured() const { return least <= greatest; }
  void measure(const Reading& reading, bool complete);

  static constexpr std::size_t kMost = 4096;
  /// Values that are not finite are left out.
  void add(double step, double value);
};

/// All series of training, in the order of their first values.
class Histories {
 public:
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  const std::vector<Series>& all() const { return all_; }
  /// The series of evaluations, for a table.
  std::vector<const Series*> rows() const;
  /// The names of metrics that are numbers, each once.
  std::vector<std::string> metrics() const;
  std::vector<const Series*> of(const std::string& metric) const;

  /// Calls f(name, part) for the parts of a record: lists over all series, concatenated.
  template <class F>
  void visit_state(F&& f) {
    Flat flat = flattened();
    visit_parts(flat, f);
    take(flat);
  }
  template <class F>
  void visit_state(F&& f) const {
    const Flat flat = flattened();
    visit_parts(flat, f);
  }

 private:
  struct Flat {
    std::vector<std::string> splits, metrics;
    std::vector<std::int64_t> counts, every, seen;
    std::vector<double> steps, values, last, least, greatest;
    std::vector<std::int64_t> known;
  };
  template <class Parts, class F>
  static void visit_parts(Parts& flat, F& f) {
    f("splits", flat.splits);
    f("metrics", flat.metrics);
    f("counts", flat.counts);
    f("every", flat.every);
    f("seen", flat.seen);
    f("steps", flat.steps);
    f("values", flat.values);
    f("last", flat.last);
    f("least", flat.least);
    f("greatest", flat.greatest);
    f("known", flat.known);
  }
  Flat flattened() const;
  /// Throws DataError for lists that do not fit together.
  void take(const Flat& flat);

  Series& series(const std::string& split, const std::string& metric);
  std::vector<Series> all_;
};

/// The steps that are shown; if `to` is infinity, up to the last one.
struct StepRange {
  double from = 0, to = std::numeric_limits<double>::infinity();
};

struct PlotStyle {
  bool logarithmic = false;  // the values' axis; values that are not positive are left out
  double smoothing = 0;      // of an exponential average, from 0 to below 1
  bool numbered = false;     // the last line has the numbers of steps, and further lines have values
};

/// `height` lines of `width` characters with the curves of these steps, and the range of values on the left. `colours`:
/// each series has its own colour, by ANSI sequences; `own`: colour numbers to use instead of those of splits.
std::vector<std::string> plot(std::span<const Series* const> series, int width, int height, StepRange steps,
                              bool colours, std::span<const int> own = {}, const PlotStyle& style = {});
/// The points as an exponential average shows them, without the bias of its beginning.
std::vector<Series::Point> smoothed(std::vector<Series::Point> points, double smoothing);

/// The colour of a split: red, blue, green, ... as an ANSI foreground number.
int colour_of(const std::string& split);

}  // namespace kiln
