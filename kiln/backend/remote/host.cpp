#include "kiln/backend/remote/host.hpp"

#include <algorithm>

#include "kiln/backend/remote/host_parts.hpp"

namespace kiln::remote {
namespace {

constexpr std::size_t kMostClients = 1024;

}  // namespace

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
    // None of this takes memory, so that nothing can be thrown here: it would end the program.
    std::map<std::uint64_t, std::shared_ptr<Kept>> expired;
    for (auto each = sessions_.begin(); each != sessions_.end();) {
      const auto kept = each++;
      if (!kept->second->connection && seconds_since(kept->second->lost) > settings_.window)
        expired.insert(sessions_.extract(kept));
    }
    std::list<std::unique_ptr<Client>> done;
    for (auto each = clients_.begin(); each != clients_.end();) {
      const auto client = each++;
      if ((*client)->done) done.splice(done.end(), clients_, client);
    }
    lock.unlock();
    exchange_.watch();
    for (const auto& client : done) client->thread.join();
    done.clear();
    expired.clear();  // frees their tensors
    lock.lock();
  }
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
      (void)kept->outbox->try_post(kept->goodbye({ErrorKind::Device, "the server was shut down", {}}));
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
                            own.frames, own.bytes_in, kept->sent_bytes()});
  }
  return all;
}

}  // namespace kiln::remote
