// Curves of metrics, in letters: each letter is two by four dots of braille.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kiln/train/events.hpp"

namespace kiln {

/// What a metric of a split was at each step at which it was measured; of very many every second, fourth, ... one.
struct Series {
  struct Point {
    double step = 0, value = 0;
  };
  std::string split, metric;
  std::vector<Point> points{};
  std::int64_t every = 1, seen = 0;

  // What a table shows: the last value, and the least and the greatest, of complete evaluations; NaN: there was none. Of an
  // evaluation that is not complete as long as there is no other.
  double last = std::numeric_limits<double>::quiet_NaN(), least = last, greatest = last;
  bool known = false;  // `last` is what was measured, not that nothing was
  bool measured() const { return least <= greatest; }
  void measure(const Reading& reading, bool complete);

  static constexpr std::size_t kMost = 4096;
  /// What is no finite number is left out.
  void add(double step, double value);
};

/// All series of a training, in the order in which they are met.
class Histories {
 public:
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  const std::vector<Series>& all() const { return all_; }
  /// Those of evaluations, for a table.
  std::vector<const Series*> rows() const;
  /// The names of metrics, each once.
  std::vector<std::string> metrics() const;
  std::vector<const Series*> of(const std::string& metric) const;

  /// Calls f(name, part) for what a record holds: lists over all series, one behind the other.
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
  /// Throws DataError for lists that do not belong together.
  void take(const Flat& flat);

  Series& series(const std::string& split, const std::string& metric);
  std::vector<Series> all_;
};

/// Steps that are looked at; `to` of infinity: as far as there are any.
struct StepRange {
  double from = 0, to = std::numeric_limits<double>::infinity();
};

/// `height` lines of `width` letters, the values' range on the left; curves of these steps. `colours`: each series in its own,
/// by ANSI sequences; `own`: their numbers, in place of those of splits.
std::vector<std::string> plot(std::span<const Series* const> series, int width, int height, StepRange steps,
                              bool colours, std::span<const int> own = {});

/// The colour of a split: red, blue, green, ... as a number of ANSI's foregrounds.
int colour_of(const std::string& split);

}  // namespace kiln
