// Formats a profile as a table.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "kiln/backend/inspect/ceiling.hpp"
#include "kiln/backend/inspect/profile_log.hpp"

namespace kiln {
namespace {

/// "12.3", or an empty text for 0.
std::string rate(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? fmt::format("{:.1f}", amount / seconds * 1e-9) : "";
}

/// The row's fraction of the machine's best rate, for the limit that it is closer to.
std::string share_of_ceiling(const ProfileRow& row, const Ceiling& ceiling) {
  if (row.seconds <= 0 || (row.bytes <= 0 && row.flops <= 0) || !row.device.empty()) return "";  // of this machine
  const double share = std::max(row.bytes / ceiling.bytes_per_second, row.flops / ceiling.flops_per_second);
  return fmt::format("{:.0f} %", 100 * share / row.seconds);
}

}  // namespace

std::vector<ProfileRow> slowest_first(std::vector<ProfileRow> rows) {
  std::ranges::sort(rows, std::greater<>(), &ProfileRow::seconds);
  return rows;
}

std::string profile_table(ProfileContents contents, std::size_t most_rows) {
  const std::vector<ProfileRow> rows = slowest_first(std::move(contents.rows));
  if (rows.empty()) return fmt::format("profile of {}: nothing ran\n", contents.device);
  double total = 0;
  std::int64_t calls = 0;
  for (const ProfileRow& row : rows) total += row.seconds, calls += row.calls;
  const double span = std::chrono::duration<double>(contents.last - contents.first).count();
  const auto has_device = [](const ProfileRow& row) { return !row.device.empty(); };
  const bool is_of_here = std::ranges::none_of(rows, has_device);
  const Ceiling& ceiling = machine_ceiling();

  std::string out = fmt::format("profile of {}: {} calls took {:.1f} ms", contents.device, calls, total * 1e3);
  out += is_of_here ? fmt::format(", {:.1f} % of the {:.1f} ms from first to last\n", 100 * total / span, span * 1e3)
                    : " (several machines' times are added)\n";
  out += "  share        ms    calls   us/call    GB/s  GFLOP/s  ceiling  operation\n";
  double rest = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ProfileRow& row = rows[i];
    if (i >= most_rows) {
      rest += row.seconds;
      continue;
    }
    out += fmt::format("{:5.1f} % {:9.2f} {:8} {:9.2f} {:>7} {:>8} {:>8}  {} {}{}{}\n", 100 * row.seconds / total,
                       row.seconds * 1e3, row.calls, row.seconds * 1e6 / static_cast<double>(row.calls),
                       rate(row.bytes, row.seconds), rate(row.flops, row.seconds), share_of_ceiling(row, ceiling),
                       row.name, row.shapes, row.device.empty() ? "" : ", on ", row.device);
  }
  if (rows.size() > most_rows)
    out += fmt::format("{:5.1f} % {:9.2f}  in {} more rows\n", 100 * rest / total, rest * 1e3, rows.size() - most_rows);
  out += fmt::format(
      "ceiling: {:.1f} GB/s for a copy of large arrays, {:.0f} GFLOP/s in float32 (above 100 %: from the caches)\n",
      ceiling.bytes_per_second * 1e-9, ceiling.flops_per_second * 1e-9);
  out += text("memory: ", contents.memory, "; ", contents.memory.system_requests, " of ", contents.memory.requests,
              " blocks came from the system\n");
  return out;
}

}  // namespace kiln
