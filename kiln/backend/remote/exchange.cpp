// Values that go from one server to another without passing the client, and the counters as text.
#include <chrono>

#include "kiln/backend/remote/host.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {
namespace {
using Clock = std::chrono::steady_clock;
constexpr double kSecondsForValue = 60;   // until it comes
constexpr double kSecondsToTake = 600;    // a session may have much to do before it takes one
constexpr double kSecondsOfSilence = 60;  // of a server that is given a value
constexpr std::size_t kMostGiven = 256;   // values that wait to be taken

double age_of(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }
}  // namespace

/// While this object lives, the host closes the connection where goes_on() is not called for long, and when it ends.
class Host::Giving {
 public:
  Giving(Host& host, net::Connection& connection) : host_(host), connection_(connection) {
    const std::lock_guard lock(host_.mutex_);
    host_.giving_.insert(this);
    if (host_.closing_) connection_.close();
  }
  ~Giving() {
    const std::lock_guard lock(host_.mutex_);
    host_.giving_.erase(this);
  }
  Giving(const Giving&) = delete;
  Giving& operator=(const Giving&) = delete;

  void goes_on() {
    const std::lock_guard lock(host_.mutex_);
    last_ = Clock::now();
  }
  // With the host's lock:
  bool is_silent() const { return age_of(last_) > kSecondsOfSilence; }
  void close() { connection_.close(); }

 private:
  Host& host_;
  net::Connection& connection_;
  Clock::time_point last_ = Clock::now();
};

void Host::close_giving(bool all) {
  for (Giving* const each : giving_)
    if (all || each->is_silent()) each->close();
}

std::vector<TensorData> Host::late_values() {
  std::vector<TensorData> late;
  for (auto each = given_.begin(); each != given_.end();) {
    const bool is_late = age_of(each->second.since) > kSecondsToTake;
    if (is_late) late.push_back(std::move(each->second.data));
    each = is_late ? given_.erase(each) : std::next(each);
  }
  return late;
}

// The connection is like a client's: a hello, but with a ticket; then the description, and the elements in pieces.
void Host::give(const std::string& address, const std::string& ticket, TensorData data) {
  require<DeviceError>(bool(settings_.dial), "this server connects to no other");
  const std::unique_ptr<net::Connection> connection = settings_.dial(address);
  Giving giving(*this, *connection);
  wire::Writer out;
  begin(out, Frame::Hello);
  wire::write_header(out);
  out.whole(kProtocol);
  wire::write_field(out, Hello{.token = settings_.token, .device = {}, .session = 0, .secret = {}, .ticket = ticket});
  connection->send(out.take());
  wire::write_desc(out, {data.shape(), data.dtype()});
  connection->send(out.take());
  const auto bytes = std::as_const(data).bytes();
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    connection->send(bytes.subspan(at, std::min(kPiece, bytes.size() - at)));
    giving.goes_on();
  }
  // The other server answers when it has all, or closes.
  const std::optional<net::Message> answer = connection->receive();
  require<DeviceError>(answer && answer->size() == 1, "the server ", address, " did not take the value");
}

void Host::receive_value(std::shared_ptr<net::Connection> connection, const std::string& ticket) {
  std::optional<net::Message> message = connection->receive();
  if (!message) return;
  wire::Reader in(connection->peer(), *message);
  const Desc desc = wire::read_desc(in);
  const std::int64_t limit = settings_.limits.memory;
  const std::int64_t whole = numel(desc.shape) * static_cast<std::int64_t>(size_of(desc.dtype));
  require<MemoryError>(limit == 0 || whole <= limit, "a value of ", text_of_bytes(whole),
                       " is more than a session may hold");
  Arrival arrival(desc);
  while (!arrival.is_complete()) {
    message = connection->receive();
    if (!message) return;
    if (message->empty() || message->size() > arrival.left().size()) in.wrong("more bytes than the value has");
    arrival.came(*message);
  }
  {
    const std::lock_guard lock(mutex_);
    require<DeviceError>(given_.size() < kMostGiven, "too many values wait to be taken");
    given_.insert_or_assign(ticket, Given{std::move(arrival).take(), Clock::now()});
    changed_.notify_all();
  }
  const std::byte done{1};
  connection->send({&done, 1});
}

TensorData Host::take(const std::string& ticket) {
  std::unique_lock lock(mutex_);
  const auto wait = std::chrono::duration<double>(kSecondsForValue);
  const bool is_here = changed_.wait_for(lock, wait, [&] { return closing_ || given_.contains(ticket); });
  require<DeviceError>(is_here && !closing_, "another server did not send the value within ", kSecondsForValue,
                       " seconds");
  return std::move(given_.extract(ticket).mapped().data);
}

std::string prometheus_text(const HostCounters& counters) {
  std::string out;
  const auto head = [&](const char* name, const char* type, const char* help) {
    out += text("# HELP kiln_host_", name, ' ', help, "\n# TYPE kiln_host_", name, ' ', type, '\n');
  };
  const auto single = [&](const char* name, const char* type, const char* help, auto value) {
    head(name, type, help);
    out += text("kiln_host_", name, ' ', value, '\n');
  };
  single("sessions", "gauge", "Sessions that there are.", counters.sessions.size());
  single("sessions_opened_total", "counter", "Sessions so far.", counters.opened);
  single("sessions_resumed_total", "counter", "Connections that went on with a session.", counters.resumed);
  single("sessions_broken_total", "counter", "Sessions that ended because of what the client sent.", counters.broken);
  single("connections_refused_total", "counter", "Connections with a wrong token, version or device.",
         counters.refused);
  const auto each = [&](const char* name, const char* type, const char* help, auto field) {
    head(name, type, help);
    for (const SessionRow& row : counters.sessions)
      out += text("kiln_host_", name, "{session=\"", row.number, "\",device=\"", row.device, "\"} ", field(row), '\n');
  };
  each("session_connected", "gauge", "Whether the client is connected.",
       [](const auto& r) { return int{r.connected}; });
  each("session_compute_seconds_total", "counter", "Time spent on the client's work.",
       [](const auto& r) { return r.seconds; });
  each("session_tensors", "gauge", "Tensors held.", [](const auto& r) { return r.tensors; });
  each("session_held_bytes", "gauge", "Bytes of these tensors.", [](const auto& r) { return r.bytes_held; });
  each("session_calls_total", "counter", "Operations.", [](const auto& r) { return r.calls; });
  each("session_received_bytes_total", "counter", "From the client.", [](const auto& r) { return r.bytes_in; });
  each("session_sent_bytes_total", "counter", "To the client.", [](const auto& r) { return r.bytes_out; });
  return out;
}

}  // namespace kiln::remote
