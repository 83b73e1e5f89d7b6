#include "kiln/core/threads/cores.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#ifdef __linux__
#include <sched.h>
#endif
#ifdef __EMSCRIPTEN__
#include <emscripten/threading.h>
#endif

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// The smaller of two quotas, where 0 means no quota.
double least(double a, double b) { return a <= 0 || b <= 0 ? std::max(a, b) : std::min(a, b); }

/// Parses "max 100000" or "150000 100000": a quota and its period in microseconds.
double quota_v2(const fs::path& group) {
  double quota = 0, period = 0;
  return std::ifstream(group / "cpu.max") >> quota >> period && quota > 0 && period > 0 ? quota / period : 0;
}

/// Reads version 1's quota and period from two files; a quota of -1 means no limit.
double quota_v1(const fs::path& group) {
  double quota = 0, period = 0;
  const bool known =
      std::ifstream(group / "cpu.cfs_quota_us") >> quota && std::ifstream(group / "cpu.cfs_period_us") >> period;
  return known && quota > 0 && period > 0 ? quota / period : 0;
}

/// The smallest quota of the group at `place` below `hierarchy` and of the groups above it. A container may see its own
/// group as the root of the hierarchy while its name is that of the outer system: a group that does not exist limits
/// nothing.
double least_quota(const fs::path& hierarchy, const fs::path& place, double quota_of(const fs::path&)) {
  double quota = quota_of(hierarchy);
  fs::path group = hierarchy;
  for (const fs::path& name : place.relative_path()) {
    group /= name;
    quota = least(quota, quota_of(group));
  }
  return quota;
}

bool names_cpu(const std::string& controllers) { return (',' + controllers + ',').find(",cpu,") != std::string::npos; }

int cores_to_run_on() {
#ifdef __EMSCRIPTEN__
  if (!emscripten_has_threading_support()) return 1;  // a module that was linked without threads
#endif
#ifdef __linux__
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

double core_quota(const fs::path& root) {
  const fs::path groups = root / "sys/fs/cgroup";
  std::ifstream own(root / "proc/self/cgroup");
  double quota = 0;
  // Lines are 0::/a/b in version 2, 4:cpu,cpuacct:/a/b in version 1.
  for (std::string number, controllers, place;
       std::getline(own, number, ':') && std::getline(own, controllers, ':') && std::getline(own, place);) {
    if (controllers.empty()) quota = least(quota, least_quota(groups, place, quota_v2));
    else if (names_cpu(controllers)) quota = least(quota, least_quota(groups / "cpu", place, quota_v1));
  }
  return quota;
}

int available_cores() {
  const int cores = std::max(cores_to_run_on(), 1);
  const double quota = core_quota();
  return quota > 0 && quota < cores ? std::max(static_cast<int>(std::ceil(quota)), 1) : cores;
}

}  // namespace kiln
