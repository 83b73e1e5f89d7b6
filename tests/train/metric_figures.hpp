// metric_figures.json: what other libraries say of the data of metric_data.hpp; metric_figures.py writes it.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "kiln/core/config/config.hpp"
#include "tests/support/figures.hpp"

namespace kiln {

struct MetricFigures {
  std::string made_with;  // the libraries and their versions
  std::map<std::string, double> values;
  std::array<std::array<std::int64_t, 5>, 5> confusion;  // [actual class, class that was said]
  std::map<std::string, std::string> stems;              // of words
};

/// Throws IoError or ConfigError where the file is missing or damaged.
inline const MetricFigures& metric_figures() {
  static const auto figures = load_config<MetricFigures>(KILN_SOURCE_DIR "/tests/train/metric_figures.json");
  return figures;
}

inline double value_of(const std::string& name) { return test::entry_of(metric_figures().values, name); }

}  // namespace kiln
