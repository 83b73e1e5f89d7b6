#include "kiln/backend/remote/host.hpp"

#include <algorithm>
#include <iterator>

#include "kiln/backend/remote/pace.hpp"
#include "kiln/backend/remote/packing.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/wire/custom.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostClients = 1024;
constexpr std::size_t kMostGreeting = 64 << 10;  // bytes of a message before the token is known to be right
constexpr std::size_t kMostWaiting = 64 << 20;   // bytes for a client that reads slowly; then its session waits

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void refuse(net::Connection& connection, const Refusal& refusal) {
  try {
    connection.send(written_first(Frame::Refusal, refusal));
  } catch (const Error&) {}  // it has gone already
}

Outgoing goodbye(const Session& session, const Refusal& why) {
  return {.head = written(Frame::Goodbye, Progress{0, session.applied(), 0}, why)};
}

}  // namespace

struct Host::Client {
  explicit Client(std::unique_ptr<net::Connection> from)
      : connection(std::move(from)), host(connection->peer().substr(0, connection->peer().rfind(':'))) {}

  const std::shared_ptr<net::Connection> connection;
  const std::string host;  // the peer's address, without its port
  const Clock::time_point since = Clock::now();
  std::atomic<bool> greeted{false}, done{false};
  bool dropped = false;  // guarded by the host's mutex
  std::thread thread{};
};

struct Host::Kept {
  Kept(std::uint64_t number, const Device& device, const std::string& peer, const SessionLimits& limits,
       Exchange& exchange)
      : number(number), peer(peer), session(number, device, peer, limits, exchange) {}

  const std::uint64_t number;
  const std::string secret = new_secret();
  const std::string peer;
  std::mutex applying;  // held by the connection that serves it
  Session session;
  std::shared_ptr<net::Connection> connection;  // guarded by the host's mutex, like the next two
  std::shared_ptr<Outbox> outbox;
  Clock::time_point lost = Clock::now();
  std::atomic<bool> busy{false}, ended{false};
  std::atomic<Clock::time_point> last_work{Clock::now()};
};

Host::Host(const std::vector<Device>& devices, HostSettings settings)
    : settings_(std::move(settings)), exchange_(settings_.dial, settings_.ticket) {
  require<ArgumentError>(!devices.empty(), "host: needs a device that it lends");
  for (const Device& device : devices) {
    require<ArgumentError>(bool(device), "host: a device is empty");
    devices_.push_back(recordable(device));
  }
  watcher_ = std::thread([this] { watch(); });
}

Host::~Host() {
  exchange_.close();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (const auto& client : clients_) client->connection->close();
    changed_.notify_all();
  }
  watcher_.join();
  for (const auto& client : clients_)
    if (client->thread.joinable()) client->thread.join();
}

/// Makes room among the connections that have not greeted, so that whoever opens many takes it from himself.
void Host::drop_stranger() {
  std::map<std::string_view, std::vector<Client*>> strangers;
  std::size_t count = 0;
  for (const auto& client : clients_)
    if (!client->greeted && !client->done && !client->dropped) strangers[client->host].push_back(client.get()), ++count;
  if (count < settings_.most_strangers) return;
  const auto busiest = std::ranges::max_element(strangers, {}, [](const auto& each) { return each.second.size(); });
  Client& oldest = *busiest->second.front();
  oldest.dropped = true;
  oldest.connection->close();
  ++counters_.silent;
}

void Host::attach(std::unique_ptr<net::Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (closing_ || clients_.size() >= kMostClients) return connection->close();
  drop_stranger();
  Client& client = *clients_.emplace_back(std::make_unique<Client>(std::move(connection)));
  try {
    client.thread = std::thread([this, &client] {
      serve(client);
      client.done = true;
    });
  } catch (...) {
    clients_.pop_back();
    throw;
  }
}

/// Frees sessions whose clients have not come back, and the threads of connections that have ended.
void Host::watch() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    for (const auto& client : clients_) {
      if (client->greeted || client->done || client->dropped || seconds_since(client->since) < settings_.greeting)
        continue;
      client->dropped = true;
      client->connection->close();
      ++counters_.silent;
    }
    std::vector<std::shared_ptr<Kept>> expired;
    for (auto each = sessions_.begin(); each != sessions_.end();) {
      const bool over = !each->second->connection && seconds_since(each->second->lost) > settings_.window;
      if (over) expired.push_back(std::move(each->second));
      each = over ? sessions_.erase(each) : std::next(each);
    }
    const auto running =
        std::stable_partition(clients_.begin(), clients_.end(), [](const auto& each) { return !each->done; });
    std::vector<std::unique_ptr<Client>> done(std::make_move_iterator(running),
                                              std::make_move_iterator(clients_.end()));
    clients_.erase(running, clients_.end());
    lock.unlock();
    exchange_.watch();
    for (const auto& client : done) client->thread.join();
    done.clear();
    expired.clear();  // frees their tensors
    lock.lock();
  }
}

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
  kept->outbox = nullptr;
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
    kept.outbox = outbox;
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
  } catch (...) { outbox.post(goodbye(session, told(std::current_exception()))); }
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

void Host::drain(double seconds) {
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  counters_.draining = true;
  const auto is_idle = [](const Kept& kept) { return !kept.busy && seconds_since(kept.last_work) > 0.1; };
  while (seconds_since(start) < seconds && !std::ranges::all_of(sessions_, [&](const auto& each) {
           return !each.second->connection || is_idle(*each.second);
         }))
    changed_.wait_for(lock, std::chrono::milliseconds(20));
  struct Open {
    std::shared_ptr<net::Connection> connection;
    std::shared_ptr<Outbox> outbox;
  };
  std::vector<Open> open;
  std::map<std::uint64_t, std::shared_ptr<Kept>> sessions;  // destroyed without the lock
  sessions.swap(sessions_);
  for (const auto& [number, kept] : sessions) {
    kept->ended = true;
    if (kept->connection) open.push_back({kept->connection, kept->outbox});
    if (kept->outbox)  // a client that reads slowly gets no goodbye
      (void)kept->outbox->try_post(goodbye(kept->session, {ErrorKind::Device, "the server was shut down", {}}));
  }
  changed_.notify_all();
  lock.unlock();
  const auto last = Clock::now();
  for (const Open& each : open) {
    if (each.outbox) each.outbox->close(std::max(0.0, 1 - seconds_since(last)));
    each.connection->close();
  }
}

HostCounters Host::counters() const {
  const std::lock_guard lock(mutex_);
  HostCounters all = counters_;
  for (const auto& [number, kept] : sessions_) {
    const SessionCounters& own = kept->session.counters();
    all.sessions.push_back({number, kept->peer, kept->session.device().name(), own.connected,
                            1e-6 * static_cast<double>(own.microseconds), own.tensors, own.bytes_held, own.calls,
                            own.frames, own.bytes_in, own.bytes_out});
  }
  return all;
}

}  // namespace kiln::remote
