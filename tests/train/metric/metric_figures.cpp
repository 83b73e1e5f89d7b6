#include "tests/train/metric/metric_figures.hpp"

#include "tests/support/figures.hpp"

namespace kiln {

const MetricFigures& metric_figures() {
  static const auto figures = load_config<MetricFigures>(KILN_SOURCE_DIR "/tests/train/metric/metric_figures.json");
  return figures;
}

double value_of(const std::string& name) { return test::entry_of(metric_figures().values, name); }

}  // namespace kiln
