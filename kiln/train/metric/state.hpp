// The states that metrics keep of the batches they have seen. States of parts of the data add up to the state of the
// whole, so that a metric does not depend on how the data are split into batches, or over processes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln::metric {

/// A field of a metric that can be merged; all others are options.
template <class T>
concept State = requires(T& state, const T& other) { state.merge(other); };

/// A number that is summed.
struct Total {
  double sum = 0;

  void merge(const Total& other) { sum += other.sum; }
  Total& operator+=(double more) {
    sum += more;
    return *this;
  }
  operator double() const { return sum; }
};

/// A list of numbers that are summed, which grows as needed.
struct Totals {
  std::vector<double> sums{};

  void add(std::int64_t place, double more);
  /// 0 if nothing was added.
  double at(std::int64_t place) const;
  std::int64_t size() const { return static_cast<std::int64_t>(sums.size()); }
  double total() const;
  void merge(const Totals& other);
};

/// The count, the mean, and the sum of squared distances from it, for each of several columns; exact even for large
/// means (Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979).
struct Moments {
  double count = 0;
  std::vector<double> means{}, squares{};

  /// Adds one row: a number for each column.
  void add(const double* row, std::int64_t columns);
  void merge(const Moments& other);
};

}  // namespace kiln::metric
