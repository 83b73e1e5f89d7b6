// The remote device's messages: a server is given those of a client, and a client those of a server. Sound conversations are
// recorded between the two.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "kiln/backend/capture/graph.hpp"
#include "kiln/backend/remote/host.hpp"
#include "kiln/backend/remote/remote.hpp"
#include "kiln/ops/elementwise/rows.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/index.hpp"
#include "tests/fuzz/message_readers.hpp"
#include "tests/fuzz/messages.hpp"

namespace kiln::test {
namespace {

using remote::Frame;

// What clients do. Each returns after it has waited for all that it asked.

Value ramp(const Device& device, const Shape& shape) {
  TensorData data(shape, DType::F32);
  float x = -1;
  for (float& each : data.as<float>()) each = x = 0.37f - 0.9f * x;
  return from_data(std::move(data), device);
}

void compute(const Device& device) {
  const Value x = ramp(device, {4, 6}), w = ramp(device, {6, 5});
  Value y = tanh(matmul(x, w)) * 2.5 + 1;
  y = sum(reshape(y, {2, 10}), {0});
  (void)y.data();
  (void)cast(uniform({3, 4}, 0, 1, device), DType::F16).data();
  (void)expand(x, {3, 4, 6}).data();
  device.sync();
}
void move_tensors(const Device& device) {
  const Value big = ramp(device, {300, 300});  // in two pieces
  const Value truth = lt(big, 0.1);
  (void)truth.data();
  device.flush();
  (void)device.memory();
  device.set_memory_limit(std::int64_t{1} << 24);
  device.reset_memory_peak();
  device.release_memory();
  (void)device.backend().start_read(std::vector<Value>{big, truth})->wait();
}
void fail_late(const Device& device) {
  const Value wrong = from_data(TensorData::of<std::int64_t>({2}, {1, 70}), device);
  const Value read = index_select(ramp(device, {3, 2}), 0, wrong);
  const Ref<Failure> failure = attempt([&] { (void)(read + 1).data(); });
  const Ref<Failure> again = attempt([&] { device.sync(); });
}
void replay(const Device& device) {
  const Value x = ramp(device, {3, 3}), w = ramp(device, {3, 3});
  const Graph graph =
      capture_graph([&](const Values& in) { return Values{matmul(in[0], w), exp(in[0]) * 2}; }, {&x, 1});
  (void)graph.replay({&x, 1})[0].data();
  (void)graph.replay({&x, 1}, {.key = Key{7}})[1].data();
}
void record(const Device& device) {
  auto& client = dynamic_cast<remote::Remote&>(device.backend());
  const std::uint64_t recording = client.start_recording();
  (void)ramp(device, {2, 2}).data();
  (void)client.recorded(recording);
  client.stop_recording(recording);
}
constexpr void (*kPrograms[])(const Device&) = {&compute, &move_tensors, &fail_late, &replay, &record};

struct Recording {
  std::mutex mutex;
  std::condition_variable changed;
  int open = 0;                          // connections that there are
  Messages sent;                         // by the client
  std::vector<std::size_t> sent_before;  // each message of the server's
  Messages received;
};

class Recorded final : public net::Connection {
 public:
  Recorded(std::unique_ptr<net::Connection> inner, std::shared_ptr<Recording> to)
      : inner_(std::move(inner)), to_(std::move(to)) {
    const std::lock_guard lock(to_->mutex);
    ++to_->open;
  }
  ~Recorded() override {
    const std::lock_guard lock(to_->mutex);
    --to_->open;
    to_->changed.notify_all();
  }
  void send(std::span<const std::byte> message) override {
    {
      const std::lock_guard lock(to_->mutex);
      to_->sent.emplace_back(message.begin(), message.end());
    }
    inner_->send(message);
  }
  std::optional<net::Message> receive() override {
    std::optional<net::Message> message = inner_->receive();
    const std::lock_guard lock(to_->mutex);
    if (message) to_->received.push_back(*message), to_->sent_before.push_back(to_->sent.size());
    return message;
  }
  void close() noexcept override { inner_->close(); }
  std::string peer() const override { return inner_->peer(); }

 private:
  const std::unique_ptr<net::Connection> inner_;
  const std::shared_ptr<Recording> to_;
};

std::shared_ptr<const Recording> recorded(void (*program)(const Device&)) {
  const auto recording = std::make_shared<Recording>();
  remote::Host host({Device::cpu()});
  program(Device(make_ref<remote::Remote>([&host, recording] {
    auto [here, there] = net::connected_pair();
    host.attach(std::move(there));
    return std::make_unique<Recorded>(std::move(here), recording);
  })));
  // The thread that receives may outlive the device, and have the last message still to come.
  std::unique_lock lock(recording->mutex);
  expect(recording->changed.wait_for(lock, std::chrono::seconds(20), [&] { return recording->open == 0; }),
         "a connection outlives its device");
  return recording;
}

// ---- A server and what a client sends: the first message is a hello, all others are frames of work.

Files client_files() {
  Files files;
  for (const auto program : kPrograms) files.push_back(file_of(recorded(program)->sent));
  return files;
}

/// Numbers the frames of work 1, 2, 3, ... again, so that they are read.
void number_frames(FileContents& file) {
  Messages messages = messages_of(file);
  std::uint64_t number = 0;
  for (FileContents& message : messages) {
    if (message.empty() || message[0] != std::byte{static_cast<std::uint8_t>(Frame::Work)}) continue;
    std::size_t end = 1;
    while (end < message.size() && (message[end] & std::byte{0x80}) != std::byte{0}) ++end;
    wire::Writer head;
    begin(head, Frame::Work);
    head.whole(++number);
    const std::vector<std::byte> bytes = head.take();
    const auto rest = message.erase(message.begin(),
                                    message.begin() + static_cast<std::ptrdiff_t>(std::min(end + 1, message.size())));
    message.insert(rest, bytes.begin(), bytes.end());
  }
  file = file_of(messages);
}

/// What a session says is read as a client reads it.
void look_at_answer(const remote::Outgoing& message) {
  expect(message.size() <= remote::kMostBytes, "a server's message is longer than any may be");
  wire::Reader in("the server", message.head);
  const auto type = static_cast<Frame>(in.byte());
  expect(type >= Frame::Ack && type <= Frame::Failed, "a server says what a session does not");
  remote::Progress progress;
  wire::read_field(in, progress);
}

void read_as_server(std::span<const std::byte> file) {
  const Messages messages = messages_of(file);
  if (messages.empty()) fail<DataError>("no message");
  static const Device device = recordable(Device::cpu());
  remote::Exchange exchange({}, 60);
  remote::Session session(1, device, "a client", {.memory = 1 << 22, .tensors = 500, .programs = 16}, exchange);
  bool has_answered = false;
  for (const FileContents& message : messages) {
    if (message.empty() || message[0] != std::byte{static_cast<std::uint8_t>(Frame::Work)}) continue;
    session.apply(std::span(message).subspan(1), 0, [&](const remote::Outgoing& each) {
      look_at_answer(each);
      has_answered = true;
    });
    expect(session.counters().bytes_held <= 1 << 22, "a session holds more than it may");
  }
  if (!has_answered) fail<DataError>("no frame of work");
}

/// The same by a host, with its threads and its greeting.
void read_as_host(std::span<const std::byte> file) {
  static remote::Host* const host = new remote::Host(
      {Device::cpu()}, {.window = 0, .most_sessions = 1000, .limits = {.memory = 1 << 22, .tensors = 500}});
  auto [here, there] = net::connected_pair(16 << 20);
  host->attach(std::move(there));
  bool is_welcome = false, has_ended = false;
  try {
    for (const FileContents& message : messages_of(file)) here->send(message);
    const std::byte bye{static_cast<std::uint8_t>(Frame::Bye)};
    here->send({&bye, 1});
  } catch (const IoError&) {}  // the server has closed
  try {
    while (const auto message = here->receive()) {
      expect(!message->empty(), "a server sends an empty message");
      const auto type = static_cast<Frame>(message->front());
      is_welcome = is_welcome || type == Frame::Welcome;
      has_ended = has_ended || type == Frame::Refusal || type == Frame::Goodbye;
    }
  } catch (const IoError&) {}
  if (has_ended || !is_welcome) fail<DataError>("the server has refused");
}

// ---- A client and what a server sends. The first byte of a file names the program; each message begins with the number of
// those that the client has sent before it came.

Files recorded_servers() {
  Files files;
  for (std::size_t number = 0; number < std::size(kPrograms); ++number) {
    const std::shared_ptr<const Recording> recording = recorded(kPrograms[number]);
    Messages messages;
    messages.push_back({static_cast<std::byte>(number)});
    for (std::size_t i = 0; i < recording->received.size(); ++i) {
      FileContents message{static_cast<std::byte>(recording->sent_before[i])};
      message.insert(message.end(), recording->received[i].begin(), recording->received[i].end());
      messages.push_back(std::move(message));
    }
    files.push_back(file_of(messages));
  }
  return files;
}

const Files& known_servers() {
  static const Files files = recorded_servers();
  return files;
}
Files server_files() { return known_servers(); }

/// Says what a file has, and ends.
class Scripted final : public net::Connection {
 public:
  /// Waits for so long until the client has sent what it should before a message; then for no other.
  Scripted(Messages messages, std::chrono::milliseconds patience)
      : messages_(std::move(messages)), patience_(patience) {}
  void send(std::span<const std::byte>) override {
    const std::lock_guard lock(mutex_);
    require<IoError>(!closed_, "the script has ended");
    ++sent_;
    changed_.notify_all();
  }
  std::optional<net::Message> receive() override {
    std::unique_lock lock(mutex_);
    while (!closed_ && next_ < messages_.size()) {
      const FileContents& message = messages_[next_++];
      if (message.empty()) continue;
      const auto after = std::to_integer<std::size_t>(message[0]);
      // A client that waits for what does not come sends nothing.
      if (!changed_.wait_for(lock, patience_, [&] { return closed_ || sent_ >= after; })) patience_ = {};
      return net::Message(message.begin() + 1, message.end());
    }
    closed_ = true;
    return std::nullopt;
  }
  void close() noexcept override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  std::string peer() const override { return "a server"; }

 private:
  const Messages messages_;
  std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0, sent_ = 0;
  bool closed_ = false;
};

void read_as_client(std::span<const std::byte> file) {
  const bool is_sound =
      std::ranges::any_of(known_servers(), [&](const FileContents& each) { return std::ranges::equal(each, file); });
  const std::chrono::milliseconds patience(is_sound ? 20'000 : 20);
  Messages messages = messages_of(file);
  if (messages.empty() || messages[0].empty()) fail<DataError>("no program");
  const auto program = kPrograms[std::to_integer<std::size_t>(messages[0][0]) % std::size(kPrograms)];
  messages.erase(messages.begin());
  const Device device(make_ref<remote::Remote>(  // whose threads may outlive this function
      [messages = std::move(messages), patience, dialed = std::make_shared<std::atomic<int>>(0)] {
        require<IoError>((*dialed)++ == 0, "nobody answers");
        return std::make_unique<Scripted>(messages, patience);
      },
      remote::ClientSettings{.window = 0}));
  door([&] { program(device); });
}

constexpr Reader kRemoteReaders[] = {
    {.name = "remote_session",
     .sound = client_files,
     .read = read_as_server,
     .change = change_messages,
     .mend = number_frames},
    {.name = "remote_host",
     .sound = client_files,
     .read = read_as_host,
     .change = change_messages,
     .mend = number_frames},
    {.name = "remote_client", .sound = server_files, .read = read_as_client, .change = change_messages},
};

}  // namespace

std::span<const Reader> remote_readers() { return kRemoteReaders; }

}  // namespace kiln::test
