#include "kiln/optim/schedule/schedule.hpp"

#include <cmath>
#include <numbers>

namespace kiln::schedules {

double progress(std::int64_t step, std::int64_t count) {
  return step >= count ? 1.0 : static_cast<double>(step) / static_cast<double>(count);
}

double cosine(double start, double end, double way) {
  return end + (start - end) * (1 + std::cos(std::numbers::pi * way)) / 2;
}

double line(double start, double end, double way) { return start + (end - start) * way; }

void require_rates(std::string_view config, std::initializer_list<Rate> rates) {
  for (const Rate& rate : rates)
    require<ArgumentError>(std::isfinite(rate.value) && rate.value >= 0, config, "Config: ", rate.name, " = ",
                           rate.value, std::isfinite(rate.value) ? " must not be negative" : " must be finite");
}

void require_rates_above_zero(std::string_view config, std::initializer_list<Rate> rates) {
  require_rates(config, rates);
  for (const Rate& rate : rates)
    require<ArgumentError>(rate.value > 0, config, "Config: ", rate.name,
                           " = 0 must be positive: nothing would be learned");
}

void require_count(std::string_view config, std::string_view name, std::int64_t count, std::int64_t least) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  require<ArgumentError>(count <= kMost, config, "Config: ", name, " = ", count, " must be at most 2^62");
  require<ArgumentError>(count >= least, config, "Config: ", name, " = ", count,
                         least == 1 ? " must be positive" : text(" must be at least ", least));
}

}  // namespace kiln::schedules
