// A server tells these numbers of itself: to programs, as a page, and as Prometheus text.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::remote {

struct SessionRow {
  std::uint64_t number = 0;
  std::string peer, device;
  bool connected = false;
  double seconds = 0;  // of computing
  std::int64_t tensors = 0, bytes_held = 0, calls = 0, frames = 0;
  std::int64_t bytes_in = 0, bytes_out = 0;  // of messages on the link: packed ones count what they were packed to
};

struct HostCounters {
  std::vector<SessionRow> sessions;
  std::int64_t opened = 0;   // sessions so far
  std::int64_t refused = 0;  // connections with a wrong token, version or device
  std::int64_t silent = 0;   // connections that were closed before they showed a token
  std::int64_t broken = 0;   // sessions that ended because of what their client sent
  std::int64_t resumed = 0;  // connections that went on with a session
  bool draining = false;
};

std::string prometheus_text(const HostCounters& counters);
/// Returns a page that loads itself again every two seconds.
std::string page_of(const HostCounters& counters);

}  // namespace kiln::remote
