#include "kiln/backend/remote/link.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "kiln/backend/remote/packing.hpp"
#include "kiln/net/options.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {
namespace {

using Clock = std::chrono::steady_clock;

/// Closes a connection unless this object ends in time.
class TimeLimit {
 public:
  TimeLimit(net::Connection& connection, double seconds)
      : thread_([this, &connection, seconds] {
          std::unique_lock lock(mutex_);
          if (ended_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return is_over_; })) return;
          is_late_ = true;
          connection.close();
        }) {}
  ~TimeLimit() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      ended_.notify_all();
    }
    thread_.join();
  }
  bool is_late() const { return is_late_; }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::atomic<bool> is_late_{false};
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace

Link::Link(Dial dial, ClientSettings settings)
    : dial_(std::move(dial)), settings_(std::move(settings)), outbox_(settings_.most_waiting, Outbox::WhenLost::Keep) {
  auto [connection, welcome] = greet(settings_.greeting);
  welcome_ = std::move(welcome);
  peer_ = connection->peer();
  no_memory_ = attempt([&] {
    fail<MemoryError>("remote device at ", peer_,
                      ": this program had no memory left for a message to the server, so that the "
                      "tensors there are lost: keep fewer values at a time");
  });
  outbox_.connect(std::move(connection));
  may_pack_ = settings_.compression == Compression::Automatic && !stays_here();
  if (settings_.compression == Compression::Always) pack();
}

bool Link::stays_here() const {
  const std::string_view host = std::string_view(peer_).substr(0, peer_.rfind(':'));
  return host == "this program" || net::is_loopback(host);
}

/// Packs, and lets the server do so.
void Link::pack() {
  may_pack_ = false;
  outbox_.post_work({.head = written(Entry::Pack)}, false);
  outbox_.pack();
}

std::shared_ptr<Link> Link::open(Dial dial, ClientSettings settings) {
  const std::shared_ptr<Link> link(new Link(std::move(dial), std::move(settings)));
  link->receiver_ = std::thread([link] {
    try {
      link->receive_all(link->connection_);
    } catch (const std::bad_alloc&) { link->lose(link->no_memory_); }
    link->fail_requests();
  });
  return link;
}

void Link::close() {
  std::thread receiver;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    receiver.swap(receiver_);
  }
  if (!receiver.joinable()) return;
  (void)outbox_.try_post({.head = written(Frame::Bye)});  // without it the server waits for its window
  outbox_.close(2);
  {
    const std::lock_guard lock(mutex_);
    if (connection_) connection_->close();
  }
  if (receiver.get_id() == std::this_thread::get_id()) receiver.detach();
  else receiver.join();
  end({ErrorKind::Device, "this program has ended its session", {}});
}

std::pair<std::shared_ptr<net::Connection>, Welcome> Link::greet(double seconds) {
  std::shared_ptr<net::Connection> connection = dial_();
  {
    const std::lock_guard lock(mutex_);
    connection_ = connection;  // so that close() ends the waiting below
    if (closing_ || why_lost_) connection->close();
  }
  const Hello hello{
      .token = settings_.token, .device = settings_.device, .session = welcome_.session, .secret = welcome_.secret};
  std::optional<net::Message> message;
  {
    const TimeLimit limit(*connection, seconds);
    const Ref<Failure> lost = attempt([&] {
      connection->send(written_first(Frame::Hello, kProtocol, hello));
      message = connection->receive();
    });
    require<IoError>(message.has_value() || !limit.is_late(), connection->peer(), " has not answered within ", seconds,
                     " seconds: is it a server of Kiln, and the port right?");
    if (lost) throw_failure(*lost);
  }
  require<IoError>(message.has_value(), connection->peer(), " has closed the connection");
  wire::Reader in(text("the server ", connection->peer()), *message);
  const auto type = static_cast<Frame>(in.byte());
  if (type != Frame::Welcome && type != Frame::Refusal) in.wrong("it does not answer like a server of Kiln");
  wire::read_header(in);
  if (type == Frame::Refusal) {
    Refusal refusal;
    wire::read_field(in, refusal);
    std::string sentence = text("remote device at ", connection->peer(), ": ", refusal.sentence);
    if (!refusal.ops.empty()) {
      const std::string names = differing_ops(refusal.ops);
      sentence += names.empty() ? ": values of enumerations differ" : ": they differ in " + names;
    }
    raise(refusal.kind, sentence);
  }
  Welcome welcome;
  wire::read_field(in, welcome);
  return {std::move(connection), std::move(welcome)};
}

void Link::post(std::vector<std::byte> entries, std::shared_ptr<const TensorData> data, std::size_t offset,
                std::size_t count) {
  check();
  require_length(entries.size() + count);
  outbox_.post_work({.head = std::move(entries), .data = std::move(data), .offset = offset, .count = count});
}

void Link::require_length(std::size_t bytes) {
  constexpr std::size_t kNumbers = 16;  // that come before the entries
  if (bytes <= kMostBytes - kNumbers) return;
  lose({ErrorKind::Device,
        text("a call, a program or a request takes ", bytes, " bytes, and a server takes no more than ", kMostBytes,
             " at once: give large attributes as tensors, and read fewer values at a time"),
        {}});
  throw_lost();
}

void Link::end_without_memory() {
  lose(no_memory_);
  throw_lost();
}

void Link::post_request(const Ref<Request>& request, std::vector<std::byte> entries) {
  require_length(entries.size());
  Ref<Failure> lost;
  {
    const std::lock_guard lock(mutex_);
    lost = why_lost_;
    if (!lost) requests_.emplace(request->number(), request);
  }
  if (lost) return request->fail(lost);  // without the lock: it releases values
  outbox_.post_work({.head = std::move(entries)}, true, &request->frame);
}

Ref<Request> Link::pending(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = requests_.find(number);
  return found == requests_.end() ? Ref<Request>() : found->second;
}

void Link::receive_all(std::shared_ptr<net::Connection> connection) {
  while (connection) {
    try {
      sequence_ = 0;
      for (;;) {
        Ref<Request> request;
        std::span<std::byte> place;
        const std::optional<net::Message> message =
            connection->receive_to([&](std::span<const std::byte> begin, std::size_t length) {
              return place = place_in(begin, length, request);
            });
        if (!message) break;
        received_ += message->size() + place.size();
        if (is_packed(*message)) receive(unpacked(*message, kMostBytes), 0);
        else receive(*message, place.size());
      }
    } catch (const IoError&) {
    } catch (...) {  // a server that talks nonsense
      end(told(std::current_exception()));
    }
    connection->close();
    {
      const std::lock_guard lock(mutex_);
      if (closing_ || why_lost_) return;
    }
    connection = reconnect();
  }
}

std::shared_ptr<net::Connection> Link::reconnect() {
  const auto start = Clock::now();
  const double window = std::min(settings_.window, welcome_.window);
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  auto pause = std::chrono::milliseconds(20);
  std::string last = "it was closed";
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (closing_ || why_lost_) return nullptr;
    }
    try {
      // A server that says nothing takes no more than what is left of the window.
      auto [connection, welcome] = greet(std::min(settings_.greeting, std::max(window - passed(), 0.02)));
      outbox_.confirm(welcome.applied);
      ++reconnections_;
      outbox_.connect(connection);
      ask_again(welcome.applied);
      return connection;
    } catch (const DeviceError& error) {  // the server is there, and has no such session
      end({ErrorKind::Device, text(error.message(), ": the tensors on it are lost"), {}});
      return nullptr;
    } catch (const Error& error) { last = error.message(); } catch (const std::exception& error) {
      last = error.what();
    }
    if (passed() > window) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(1000));
  }
  end({ErrorKind::Device,
       text("the connection to ", peer_, " was lost and did not come back within ", window, " seconds (", last,
            "): the tensors there are lost"),
       {}});
  return nullptr;
}

/// Requests that the server has seen and whose answers were lost are asked again; values never change. Those in later frames
/// than `applied` need not be: these frames are sent again.
void Link::ask_again(std::uint64_t applied) {
  std::vector<Ref<Request>> again;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, request] : requests_) again.push_back(request);
  }
  for (const Ref<Request>& request : again) {
    request->restart();
    if (const std::uint64_t frame = request->frame; frame == 0 || frame > applied) continue;
    outbox_.post_work({.head = request->ask}, false, &request->frame);
  }
}

void Link::throw_lost() const {
  Ref<Failure> why;
  {
    const std::lock_guard lock(mutex_);
    why = why_lost_;
  }
  throw_failure(*why);
}

}  // namespace kiln::remote
