// metric_figures.json: what other libraries say of the data of metric_data.hpp; metric_figures.py writes it.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace kiln {

struct MetricFigures {
  std::string made_with;  // the libraries and their versions
  std::map<std::string, double> values;
  std::array<std::array<std::int64_t, 5>, 5> confusion;  // [actual class, class that was said]
  std::map<std::string, std::string> stems;              // of words
};

/// Throws IoError or ConfigError where the file is missing or damaged.
const MetricFigures& metric_figures();

/// One of the values. Throws DataError where there is none of that name.
double value_of(const std::string& name);

}  // namespace kiln
