// Rows of functions that make something of each line of an array along one dimension.
#pragma once
#include <functional>
#include <vector>

#include "tests/ops/harness.hpp"

namespace kiln::test {

using Line = std::vector<double>;

/// What `f` makes of each line of x along `dim`, in place of the line; all lines have results of one length.
inline Array of_lines(const Array& x, int dim, const std::function<Line(const Line&)>& f) {
  std::vector<Line> results;
  Shape beside = x.shape;
  beside[dim] = 1;
  each_index(beside, [&](const Dims& index) {
    Line line;
    Dims at = index;
    for (at[dim] = 0; at[dim] < x.shape[dim]; ++at[dim]) line.push_back(x(at));
    results.push_back(f(line));
  });
  Shape shape = x.shape;
  shape[dim] = static_cast<std::int64_t>(results.at(0).size());
  Array result(shape);
  std::size_t next = 0;
  each_index(beside, [&](const Dims& index) {
    Dims at = index;
    for (at[dim] = 0; at[dim] < shape[dim]; ++at[dim]) result(at) = results[next][static_cast<std::size_t>(at[dim])];
    ++next;
  });
  return result;
}

/// The same for results of one number, with or without the dimension.
inline Array of_line(const Array& x, int dim, const std::function<double(const Line&)>& f, bool keep = false) {
  Array result = of_lines(x, dim, [&](const Line& line) { return Line{f(line)}; });
  if (!keep) result.shape.erase(dim);
  return result;
}

}  // namespace kiln::test
