#include "kiln/rl/watch.hpp"

#include "kiln/train/log/progress.hpp"
#include "kiln/train/show/dashboard.hpp"
#include "kiln/train/show/web.hpp"

namespace kiln::rl {

void watch(RlLoop& learner, const Watch& how) {
  if (how.web) learner.add(WebDashboard({.port = *how.web}));
  if (how.plain || how.web) learner.add(ProgressLines());
  else learner.add(Dashboard({.stays = how.stays}));
}

}  // namespace kiln::rl
