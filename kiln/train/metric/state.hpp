// What metrics keep of the batches that they have seen. States of parts of the data add up to the state of all of it, so
// that a metric is the same however the data were cut into batches, or spread over processes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln::metric {

/// A field of a metric that merges; all others are options.
template <class T>
concept State = requires(T& state, const T& other) { state.merge(other); };

/// A number that adds up.
struct Total {
  double sum = 0;

  void merge(const Total& other) { sum += other.sum; }
  Total& operator+=(double more) {
    sum += more;
    return *this;
  }
  operator double() const { return sum; }
};

/// A row of numbers that add up, as long as it needs to be.
struct Totals {
  std::vector<double> sums{};

  void add(std::int64_t place, double more);
  /// 0 where nothing was added.
  double at(std::int64_t place) const;
  std::int64_t size() const { return static_cast<std::int64_t>(sums.size()); }
  double total() const;
  void merge(const Totals& other);
};

/// How many, their means, and the sums of squared distances to these, of each of several columns; exact where the means
/// are large, too (Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
/// 1979).
struct Moments {
  double count = 0;
  std::vector<double> means{}, squares{};

  /// One row: a number for each column.
  void add(const double* row, std::int64_t columns);
  void merge(const Moments& other);
};

}  // namespace kiln::metric
