// What a remote device costs, over WebSockets of the loopback: `measure_remote [transfers | calls | reads]`. It is no test,
// as tests measure no time.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "kiln/backend/remote/address.hpp"
#include "kiln/backend/remote/hosting.hpp"
#include "kiln/backend/remote/remote.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/leaf_backend.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Megabytes a second of a plain socket that one thread fills and another empties.
double plain_socket(std::size_t bytes) {
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof name;
  ::bind(listening, reinterpret_cast<sockaddr*>(&name), length);
  ::listen(listening, 1);
  ::getsockname(listening, reinterpret_cast<sockaddr*>(&name), &length);
  std::thread sender([&] {
    const int out = ::socket(AF_INET, SOCK_STREAM, 0);
    ::connect(out, reinterpret_cast<sockaddr*>(&name), length);
    const std::vector<char> piece(256 << 10, 'x');
    for (std::size_t sent = 0; sent < bytes;)
      sent += static_cast<std::size_t>(::send(out, piece.data(), piece.size(), 0));
    ::close(out);
  });
  const int in = ::accept(listening, nullptr, nullptr);
  std::vector<char> buffer(256 << 10);
  const auto start = Clock::now();
  while (::recv(in, buffer.data(), buffer.size(), 0) > 0) continue;
  const double seconds = since(start);
  sender.join();
  ::close(in), ::close(listening);
  return 1e-6 * static_cast<double>(bytes) / seconds;
}

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

/// Uploads and downloads beside a plain socket, in turn: other programs of the machine slow all of them.
void measure_transfers(const Device& device) {
  constexpr std::size_t kBytes = 256 << 20;
  constexpr int kRounds = 7;
  std::vector<double> plain, up, down;
  for (int round = 0; round < kRounds; ++round) {
    plain.push_back(plain_socket(kBytes));
    TensorData data(Shape{kBytes / 4}, DType::F32);
    auto start = Clock::now();
    const Value x = from_data(std::move(data), device);
    device.sync();
    up.push_back(1e-6 * kBytes / since(start));
    start = Clock::now();
    (void)x.data();
    down.push_back(1e-6 * kBytes / since(start));
    std::printf("plain socket, upload, download: %6.0f %6.0f %6.0f MB/s\n", plain.back(), up.back(), down.back());
  }
  const double whole = median(plain);
  std::printf("medians                       : %6.0f %6.0f %6.0f MB/s (%.0f %%, %.0f %%)\n", whole, median(up),
              median(down), 100 * median(up) / whole, 100 * median(down) / whole);
}

/// Seconds for which this thread had a processor: other threads of a busy machine take it away.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Nanoseconds of a call x * w in the client's thread, with emit and infer. The result replaces x, as in a program.
double call_time(const Device& device, int calls) {
  Value x = full({16}, 1, device, DType::F32), w = full({16}, 0.5, device, DType::F32);
  for (int i = 0; i < 100; ++i) x = x * w;
  device.sync();
  const double start = thread_seconds();
  for (int i = 0; i < calls; ++i) x = x * w;
  const double seconds = thread_seconds() - start;
  device.sync();
  return 1e9 * seconds / calls;
}

/// A device whose calls do nothing: what remains are emit and infer, and a handle for each result.
class Nothing final : public LeafBackend {
 public:
  std::string name() const override { return "nothing"; }
  void run(const op::Op&, Call call) override {
    for (const Value& result : call.out) result.node()->storage = make_ref<Storage>();
  }
  Ref<Node> upload(TensorData, const Device&) override { fail<DeviceError>("it does nothing"); }
  TensorData download(const Value&) override { fail<DeviceError>("it does nothing"); }
  void sync() override {}
};

void measure_calls(const Device& device) {
  auto& client = dynamic_cast<remote::Remote&>(device.backend());
  const Device nothing(make_ref<Nothing>()), local = Device::cpu();
  constexpr int kRounds = 7, kCalls = 20000;
  std::vector<double> remote, none, here;
  const remote::ClientCounters before = client.counters();
  for (int round = 0; round < kRounds; ++round) {
    remote.push_back(call_time(device, kCalls));
    none.push_back(call_time(nothing, kCalls));
    here.push_back(call_time(local, kCalls));
  }
  const remote::ClientCounters after = client.counters();
  std::printf("call of x * w: %.0f ns, emit and infer alone %.0f ns: the client adds %.0f ns; on the cpu %.0f ns\n",
              median(remote), median(none), median(remote) - median(none), median(here));
  std::printf("               %.1f bytes\n", static_cast<double>(after.bytes_sent - before.bytes_sent) /
                                                 static_cast<double>(after.calls - before.calls));
}

void measure_reads(const Device& device) {
  const Value x = full({16}, 1, device, DType::F32);
  std::vector<double> reads;
  for (int i = 0; i < 2000; ++i) {
    const auto start = Clock::now();
    (void)x.data();
    reads.push_back(1e6 * since(start));
  }
  std::printf("read of 16 elements: %.1f us\n", median(reads));
}

void measure(std::string_view what) {
  const auto running = host(Device::cpu(), {.port = 0});
  const Device device(make_ref<remote::Remote>(remote::dial_of(text("127.0.0.1:", running->port()))));
  if (what.empty() || what == "transfers") measure_transfers(device);
  if (what.empty() || what == "calls") measure_calls(device);
  if (what.empty() || what == "reads") measure_reads(device);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { kiln::measure(argc > 1 ? argv[1] : ""); }
