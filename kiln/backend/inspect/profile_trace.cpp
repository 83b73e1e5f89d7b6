// Writes a profile for ui.perfetto.dev and chrome://tracing: the Trace Event Format of Chromium's catapult.
#include <nlohmann/json.hpp>

#include "kiln/backend/inspect/profile_log.hpp"
#include "kiln/core/file.hpp"

namespace kiln {
namespace {

using Json = nlohmann::json;

double microseconds(ProfileClock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

}  // namespace

void profile_trace(const ProfileContents& contents, const std::string& file) {
  write_file_atomically(file, [&](FileReplacement& out) {
    bool first = true;
    const auto write = [&](const Json& event) {
      out.write(first ? "{\"traceEvents\": [\n" : ",\n");
      out.write(event.dump(-1, ' ', false, Json::error_handler_t::replace));  // a custom op may have any name
      first = false;
    };
    write({{"ph", "M"}, {"pid", 0}, {"name", "process_name"}, {"args", {{"name", contents.device}}}});
    for (const ProfileEvent& event : contents.events) {
      const ProfileRow& row = contents.rows[event.row];
      const double start = microseconds(event.start - contents.first);
      write({{"ph", "X"},
             {"pid", 0},
             {"tid", event.thread},
             {"ts", start},
             {"dur", microseconds(event.took)},
             {"name", row.name},
             {"args", {{"shapes", row.shapes}, {"bytes", row.bytes / static_cast<double>(row.calls)}}}});
      write({{"ph", "C"},
             {"pid", 0},
             {"ts", start + microseconds(event.took)},
             {"name", "memory in use"},
             {"args", {{"bytes", event.memory_in_use}}}});
    }
    out.write(text("\n], \"displayTimeUnit\": \"ms\", \"otherData\": {\"events left out\": ", contents.events_left_out,
                   "}}\n"));
  });
}

}  // namespace kiln
