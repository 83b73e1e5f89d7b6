// A host's half of a connection: its greeting, and the messages that it gives to its session.
#include <algorithm>

#include "kiln/backend/remote/host_parts.hpp"
#include "kiln/backend/remote/pace.hpp"
#include "kiln/backend/remote/packing.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/wire/custom.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {
namespace {

constexpr std::size_t kMostGreeting = 64 << 10;  // bytes of a message before the token is known to be right
constexpr std::size_t kMostWaiting = 64 << 20;   // bytes for a client that reads slowly; then its session waits

void refuse(net::Connection& connection, const Refusal& refusal) {
  try {
    connection.send(written_first(Frame::Refusal, refusal));
  } catch (const Error&) {}  // it has gone already
}

}  // namespace

const Device& Host::device_for(const std::string& name) const {
  if (name.empty()) return devices_[0];
  const auto found = std::ranges::find_if(devices_, [&](const Device& device) { return device.name() == name; });
  if (found != devices_.end()) return *found;
  std::string names;
  for (const Device& device : devices_) names += (names.empty() ? "" : ", ") + device.name();
  fail<DeviceError>("the server lends no device '", shown(name), "'; it has: ", names);
}

std::shared_ptr<Host::Kept> Host::kept_for(const Client& client, const Hello& hello) {
  const std::lock_guard lock(mutex_);
  require<DeviceError>(!counters_.draining && !closing_, "the server is being shut down and takes no more sessions");
  if (hello.session == 0) {
    require<DeviceError>(sessions_.size() < settings_.most_sessions, "the server has ", sessions_.size(),
                         " sessions, which is all that it takes: try again later");
    const std::uint64_t number = ++last_session_;
    auto kept = std::make_shared<Kept>(number, device_for(hello.device), client.connection->peer(), settings_.limits,
                                       exchange_);
    kept->connection = client.connection;
    ++counters_.opened;
    return sessions_.emplace(number, kept).first->second;
  }
  const auto found = sessions_.find(hello.session);
  require<DeviceError>(found != sessions_.end() && is_same_secret(found->second->secret, hello.secret),
                       "the server has no session ", hello.session,
                       ": it was started anew, or has waited too long for this client");
  ++counters_.resumed;
  const std::shared_ptr<Kept> kept = found->second;
  if (kept->connection) kept->connection->close();  // the one that the client has given up
  kept->connection = client.connection;
  changed_.notify_all();
  return kept;
}

std::shared_ptr<Host::Kept> Host::welcome(Client& client, std::span<const std::byte> message) {
  Refusal refusal;
  try {
    wire::Reader in(client.connection->peer(), message);
    if (in.byte() != static_cast<std::uint8_t>(Frame::Hello)) in.wrong("a connection begins with a hello");
    const std::uint64_t table = wire::read_header(in);
    const std::uint64_t protocol = in.whole();
    require<DeviceError>(protocol == kProtocol, "the client speaks version ", protocol,
                         " of the remote device's protocol, the server version ", kProtocol,
                         ": let both be of the same version of Kiln");
    Hello hello;
    wire::read_field(in, hello);
    in.finish();
    const bool shows_token = hello.ticket.empty();
    require<DeviceError>(!shows_token || settings_.token.empty() || is_same_secret(hello.token, settings_.token),
                         hello.token.empty() ? "the server asks for a token: set KILN_REMOTE_TOKEN"
                                             : "the server does not take this token");
    if (table != wire::table_fingerprint()) {
      if (shows_token) refusal.ops = own_ops();
      fail<DeviceError>("client and server are different versions of Kiln");
    }
    if (!shows_token) return exchange_.receive(*client.connection, hello, client.greeted), nullptr;
    client.greeted = true;
    client.connection->take_at_most(kMostBytes);
    return kept_for(client, hello);
  } catch (...) {
    const Refusal why = told(std::current_exception());
    refusal.kind = why.kind;
    refusal.sentence = why.sentence;
  }
  refuse(*client.connection, refusal);
  const std::lock_guard lock(mutex_);
  ++counters_.refused;
  return nullptr;
}

void Host::serve(Client& client) {
  std::shared_ptr<Kept> kept;
  try {
    client.connection->take_at_most(kMostGreeting);
    const std::optional<net::Message> hello = client.connection->receive();
    kept = hello ? welcome(client, *hello) : nullptr;
    if (kept) {
      const std::lock_guard applying(kept->applying);  // waits until the connection before has left
      if (kept->ended)
        refuse(*client.connection, {ErrorKind::Device, text("session ", kept->number, " has ended"), {}});
      else serve_session(client, *kept);
    }
  } catch (const std::exception&) {}  // the connection is lost; the session waits
  client.connection->close();
  if (!kept) return;
  const std::lock_guard lock(mutex_);
  if (kept->connection != client.connection) return;  // another connection goes on with it
  kept->connection = nullptr;
  kept->take_outbox(nullptr);
  kept->lost = Clock::now();
  kept->session.counters().connected = false;
}

void Host::serve_session(Client& client, Kept& kept) {
  Session& session = kept.session;
  session.forget_told();
  Welcome welcome{kept.number,       kept.secret, session.device().name(), session.applied(), settings_.window,
                  exchange_.sends(), {}};
  for (const wire::CustomClass& each : wire::custom_classes()) welcome.custom.push_back({each.name, each.fingerprint});
  const auto outbox = std::make_shared<Outbox>(kMostWaiting, Outbox::WhenLost::Close);
  outbox->connect(client.connection);
  outbox->post({.head = written_first(Frame::Welcome, welcome)});
  {
    const std::lock_guard lock(mutex_);
    kept.take_outbox(outbox);
  }
  struct Leave {
    net::Connection& connection;
    Session& session;
    ~Leave() {
      connection.close();  // before the outbox waits for its thread
      session.leave();
    }
  } const leave{*client.connection, session};
  session.counters().connected = true;
  kept.busy = false;  // the connection before may have been lost at work
  Pace pace(settings_.limits.bytes_per_second);
  for (;;) {
    std::size_t placed = 0;
    const std::optional<net::Message> message =
        client.connection->receive_to([&](std::span<const std::byte> begin, std::size_t length) {
          const std::span<std::byte> place = session.place_in(begin, length);
          placed = place.size();
          return place;
        });
    if (!message) return;
    kept.busy = true;
    if (!apply(kept, *outbox, *message, placed)) return end_session(kept.number);
    kept.busy = false;
    kept.last_work = Clock::now();
    wait_for_rate(client, kept, pace.next(message->size() + placed, Clock::now()));
  }
}

bool Host::apply(Kept& kept, Outbox& outbox, const net::Message& message, std::size_t placed) {
  Session& session = kept.session;
  const std::size_t size = message.size() + placed;
  session.counters().bytes_in += static_cast<std::int64_t>(size);
  const auto type = message.empty() ? Frame::Goodbye : static_cast<Frame>(message.front());
  if (type == Frame::Bye) return false;
  if (type == Frame::Hello) return true;  // it came twice
  try {
    net::Message whole;
    std::span<const std::byte> frame = message;
    if (type == Frame::Packed) frame = whole = unpacked(message, kMostBytes);
    const bool is_work = !frame.empty() && static_cast<Frame>(frame.front()) == Frame::Work;
    require<DataError>(is_work && size <= kMostBytes, "the client sends what is no frame");
    session.apply(frame.subspan(1), placed, [&](Outgoing each) { outbox.post(std::move(each)); });
    if (session.packs()) outbox.pack();
    return true;
  } catch (const IoError&) {
    throw;  // the connection is to blame, and is closed; the session waits for another one
  } catch (...) { outbox.post(kept.goodbye(told(std::current_exception()))); }
  outbox.close(1);
  const std::lock_guard lock(mutex_);
  ++counters_.broken;
  return false;
}

void Host::wait_for_rate(const Client& client, const Kept& kept, Clock::time_point until) {
  if (until <= Clock::now()) return;
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return closing_ || kept.ended || kept.connection != client.connection; });
}

void Host::end_session(std::uint64_t number) {
  std::shared_ptr<Kept> kept;  // destroyed without the lock, by the connection's thread
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) return;
  kept = std::move(found->second);
  kept->ended = true;
  sessions_.erase(found);
}

}  // namespace kiln::remote
