#include "kiln/backend/remote/exchange.hpp"

#include <algorithm>

#include "kiln/backend/remote/arrival.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {
namespace {

constexpr double kSecondsOfSilence = 60;                  // on a connection by which a value comes or goes
constexpr double kSecondsToTake = 600;                    // a session may have much to do before it takes a value
constexpr std::size_t kMost = 1024, kMostOfSession = 64;  // values that are expected

std::chrono::steady_clock::duration seconds(double count) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(count));
}

}  // namespace

std::string proof_of(const Ticket& ticket, std::string_view role, std::string_view giver_nonce,
                     std::string_view receiver_nonce) {
  const std::string said = text(role, '\n', ticket.id, '\n', giver_nonce, '\n', receiver_nonce);
  const net::Digest digest = net::hmac_sha256(std::as_bytes(std::span(ticket.key)), std::as_bytes(std::span(said)));
  return net::base64(digest);
}

/// While this object lives, the connection is closed where goes_on() is not called for long, and with the exchange.
class Exchange::Watched {
 public:
  Watched(Exchange& exchange, net::Connection& connection) : connection(connection), exchange_(exchange) {
    const std::lock_guard lock(exchange_.mutex_);
    exchange_.watched_.push_back(this);
    if (exchange_.closing_) connection.close();
  }
  ~Watched() {
    const std::lock_guard lock(exchange_.mutex_);
    exchange_.watched_.remove(this);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  void goes_on() { last = Clock::now(); }

  net::Connection& connection;
  std::atomic<Clock::time_point> last{Clock::now()};

 private:
  Exchange& exchange_;
};

Ticket Exchange::expect(std::uint64_t session, const Desc& desc, std::int64_t most_bytes) {
  const std::lock_guard lock(mutex_);
  std::int64_t bytes = bytes_of(desc);
  std::size_t count = 0;
  for (const auto& [id, each] : tickets_)
    if (each.session == session) ++count, bytes += bytes_of(each.desc);
  require<MemoryError>(count < kMostOfSession && tickets_.size() < kMost,
                       "too many values are on their way to this server: wait for some of them");
  require<MemoryError>(most_bytes == 0 || bytes <= most_bytes, "values of ", text_of_bytes(bytes),
                       " would be on their way to a session that may hold ", text_of_bytes(most_bytes));
  const Ticket ticket{new_secret(), new_secret()};
  tickets_.emplace(ticket.id, Expected{ticket, session, desc, Clock::now() + seconds(seconds_)});
  return ticket;
}

Exchange::Expected& Exchange::open_ticket(const std::string& id) {
  const auto found = tickets_.find(id);
  require<DeviceError>(
      found != tickets_.end() && found->second.state == State::Open && Clock::now() < found->second.until,
      "the server has made no such ticket, or it was used before, or its time is over");
  return found->second;
}

void Exchange::give(const std::string& address, const Ticket& ticket, const TensorData& data) {
  require<DeviceError>(sends(), "this server connects to no other");
  const std::unique_ptr<net::Connection> connection = dial_(address);
  Watched watched(*this, *connection);
  const std::string nonce = new_secret();
  connection->send(written_first(Frame::Hello, kProtocol, Hello{.ticket = ticket.id, .nonce = nonce}));
  // What the other server says, which is a refusal or a message of this kind.
  std::optional<net::Message> message;
  const auto received = [&](Frame wanted) {
    message = connection->receive();
    require<DeviceError>(message.has_value(), "the server ", address, " has closed the connection");
    wire::Reader in(text("the server ", address), *message);
    const auto type = static_cast<Frame>(in.byte());
    if (type == Frame::Refusal) {
      wire::read_header(in);
      Refusal refusal;
      wire::read_field(in, refusal);
      raise(refusal.kind, text("the server ", address, ": ", refusal.sentence));
    }
    if (type != wanted) in.wrong("it does not answer like a server of Kiln");
    return in;
  };
  Offer offer;
  wire::Reader in = received(Frame::Offer);
  wire::read_field(in, offer);
  require<DeviceError>(is_same_secret(offer.proof, proof_of(ticket, "receives", nonce, offer.nonce)), "the server ",
                       address, " has not made the ticket of this value: the value is not sent to it");
  const Ref<Failure> cut = attempt([&] {
    wire::Writer out;
    out.text(proof_of(ticket, "gives", nonce, offer.nonce));
    wire::write_desc(out, {data.shape(), data.dtype()});
    connection->send(out.take());
    const auto bytes = data.bytes();
    for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
      connection->send(bytes.subspan(at, std::min(kPiece, bytes.size() - at)));
      watched.goes_on();
    }
  });
  // A server that takes no more has said why before it closed the connection.
  message.reset();
  const Ref<Failure> refused = attempt([&] { (void)received(Frame::Ack); });
  if (cut && !message) throw_failure(*cut);
  if (refused) throw_failure(*refused);
}

void Exchange::receive(net::Connection& connection, const Hello& hello, std::atomic<bool>& proved) {
  Expected expected;
  {
    const std::lock_guard lock(mutex_);
    const Expected& open = open_ticket(hello.ticket);
    expected = {open.ticket, open.session, open.desc, open.until};
  }
  const std::string nonce = new_secret();
  connection.send(written(Frame::Offer, Offer{nonce, proof_of(expected.ticket, "receives", hello.nonce, nonce)}));
  std::optional<net::Message> message = connection.receive();
  if (!message) return;
  wire::Reader in(connection.peer(), *message);
  require<DeviceError>(is_same_secret(in.text(128), proof_of(expected.ticket, "gives", hello.nonce, nonce)),
                       "this server does not have the ticket's key: the client has not given it the ticket");
  {
    const std::lock_guard lock(mutex_);
    open_ticket(hello.ticket).state = State::Coming;  // of two that have the key, one comes through
  }
  proved = true;
  connection.take_at_most(kMostBytes);
  // From here on the ticket is used: where the value does not come, it has failed.
  struct Unless {
    Exchange& exchange;
    const std::string& id;
    bool came = false;
    ~Unless() {
      const std::lock_guard lock(exchange.mutex_);
      if (!came) exchange.tickets_.erase(id);
      exchange.changed_.notify_all();
    }
  } unless{*this, hello.ticket};
  Watched watched(*this, connection);
  if (wire::read_desc(in) != expected.desc) in.wrong("the value is another one than its ticket says");
  Arrival arrival(expected.desc);
  while (!arrival.is_complete()) {
    message = connection.receive();
    if (!message) return;
    if (message->empty() || message->size() > arrival.left().size()) in.wrong("more bytes than the value has");
    arrival.came(*message);
    watched.goes_on();
  }
  {
    const std::lock_guard lock(mutex_);
    const auto found = tickets_.find(hello.ticket);
    if (found == tickets_.end()) return;  // its session has ended
    found->second.data = std::move(arrival).take();
    found->second.state = State::Here;
    found->second.until = Clock::now() + seconds(kSecondsToTake);
    unless.came = true;
  }
  connection.send(written(Frame::Ack));
}

TensorData Exchange::take(std::uint64_t session, const std::string& id) {
  std::unique_lock lock(mutex_);
  const auto found = tickets_.find(id);
  require<DeviceError>(found != tickets_.end() && found->second.session == session,
                       "the session has no such ticket, or the value did not come in time");
  const auto has_ended = [&] { return closing_ || !tickets_.contains(id) || tickets_.at(id).state == State::Here; };
  changed_.wait(lock, has_ended);  // watch() ends it
  require<DeviceError>(!closing_ && tickets_.contains(id), "another server did not send the value in time");
  return std::move(tickets_.extract(id).mapped().data);
}

Exchange::Tickets Exchange::take_out(const std::function<bool(const Expected&)>& is_over) {
  Tickets over;
  for (auto each = tickets_.begin(); each != tickets_.end();) {
    const auto next = std::next(each);
    if (is_over(each->second)) over.insert(tickets_.extract(each));
    each = next;
  }
  if (!over.empty()) changed_.notify_all();
  return over;
}

void Exchange::forget(std::uint64_t session) {
  Tickets over;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  over = take_out([&](const Expected& each) { return each.session == session; });
}

void Exchange::watch() {
  Tickets over;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  over = take_out([&](const Expected& each) { return each.state != State::Coming && now >= each.until; });
  for (Watched* const each : watched_)
    if (now - each->last.load() > seconds(kSecondsOfSilence)) each->connection.close();
}

void Exchange::close() {
  const std::lock_guard lock(mutex_);
  closing_ = true;
  for (Watched* const each : watched_) each->connection.close();
  changed_.notify_all();
}

}  // namespace kiln::remote
