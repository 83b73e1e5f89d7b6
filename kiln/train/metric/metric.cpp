#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

double mean(std::string_view name, double sum, double count) {
  require<ArgumentError>(count > 0, name, ": nothing was measured");
  return sum / count;
}

std::string name_from(std::string_view type) {
  std::string name;
  for (const char letter : type) {
    const bool upper = letter >= 'A' && letter <= 'Z';
    if (upper && !name.empty()) name += '_';
    name += upper ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return name;
}

}  // namespace kiln::metric
