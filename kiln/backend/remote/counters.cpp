#include "kiln/backend/remote/counters.hpp"

#include "kiln/core/text.hpp"
#include "kiln/ops/memory.hpp"

namespace kiln::remote {
namespace {

struct Column {
  const char *name, *type, *help, *title;  // for Prometheus, and on the page
  double (*value)(const SessionRow&);
  bool is_bytes = false;
};
constexpr Column kColumns[] = {
    {"session_connected", "gauge", "Whether the client is connected.", "connected",
     [](const SessionRow& r) { return r.connected ? 1.0 : 0.0; }},
    {"session_tensors", "gauge", "Tensors held.", "tensors",
     [](const SessionRow& r) { return static_cast<double>(r.tensors); }},
    {"session_held_bytes", "gauge", "Bytes of these tensors.", "memory",
     [](const SessionRow& r) { return static_cast<double>(r.bytes_held); }, true},
    {"session_calls_total", "counter", "Operations.", "operations",
     [](const SessionRow& r) { return static_cast<double>(r.calls); }},
    {"session_compute_seconds_total", "counter", "Time spent on the client's work.", "seconds",
     [](const SessionRow& r) { return r.seconds; }},
    {"session_received_bytes_total", "counter",
     "From the client, on the link: packed messages count what they were packed to.", "received",
     [](const SessionRow& r) { return static_cast<double>(r.bytes_in); }, true},
    {"session_sent_bytes_total", "counter", "To the client, on the link.", "sent",
     [](const SessionRow& r) { return static_cast<double>(r.bytes_out); }, true},
};

/// Returns a number, without an exponent where it is whole.
std::string shown_number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? text(whole) : text(value);
}

struct Total {
  const char *name, *type, *help, *title;
  std::int64_t value;
};
std::vector<Total> totals_of(const HostCounters& c) {
  return {
      {"sessions", "gauge", "Sessions that there are.", "sessions now", static_cast<std::int64_t>(c.sessions.size())},
      {"sessions_opened_total", "counter", "Sessions so far.", "so far", c.opened},
      {"sessions_resumed_total", "counter", "Connections that went on with a session.", "reconnections", c.resumed},
      {"sessions_broken_total", "counter", "Sessions that ended because of what the client sent.", "broken", c.broken},
      {"connections_refused_total", "counter", "Connections with a wrong token, version or device.", "refused",
       c.refused},
      {"connections_silent_total", "counter", "Connections that were closed before they showed a token.", "silent",
       c.silent}};
}

}  // namespace

std::string prometheus_text(const HostCounters& counters) {
  std::string out;
  const auto head = [&](const auto& of) {
    out += text("# HELP kiln_host_", of.name, ' ', of.help, "\n# TYPE kiln_host_", of.name, ' ', of.type, '\n');
  };
  for (const Total& total : totals_of(counters)) {
    head(total);
    out += text("kiln_host_", total.name, ' ', total.value, '\n');
  }
  for (const Column& column : kColumns) {
    head(column);
    for (const SessionRow& row : counters.sessions)
      out += text("kiln_host_", column.name, "{session=\"", row.number, "\",device=\"", row.device, "\"} ",
                  shown_number(column.value(row)), '\n');
  }
  return out;
}

std::string page_of(const HostCounters& counters) {
  std::string out =
      "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=2><title>Kiln: lent devices</title>"
      "<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.3em .8em;"
      "text-align:right;border-bottom:1px solid #ccc}</style><h1>Lent devices</h1><p>";
  for (const Total& total : totals_of(counters)) out += text(total.value, ' ', total.title, "; ");
  out += text(counters.draining ? "draining" : "open", "</p><table><tr><th>session<th>client<th>device");
  for (const Column& column : kColumns) out += text("<th>", column.title);
  out += "<th>per second</tr>";
  for (const SessionRow& row : counters.sessions) {
    out += text("<tr><td>", row.number, "<td>", row.peer, "<td>", row.device);
    for (const Column& column : kColumns) {
      const double value = column.value(row);
      out += "<td>" + (column.is_bytes ? text_of_bytes(static_cast<std::int64_t>(value)) : shown_number(value));
    }
    const double rate = row.seconds > 0 ? static_cast<double>(row.calls) / row.seconds : 0;
    out += text("<td>", static_cast<std::int64_t>(rate), "</tr>");
  }
  return out + "</table>";
}

}  // namespace kiln::remote
