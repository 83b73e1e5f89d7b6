// What a remote device costs, over WebSockets of the loopback: `measure_remote`. It is no test, as tests measure no time.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "kiln/backend/remote/address.hpp"
#include "kiln/backend/remote/hosting.hpp"
#include "kiln/backend/remote/remote.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/functions.hpp"
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

void measure() {
  const auto running = host(Device::cpu(), {.port = 0});
  const Device device(make_ref<remote::Remote>(remote::dial_of(text("127.0.0.1:", running->port()))));
  auto& client = dynamic_cast<remote::Remote&>(device.backend());

  constexpr std::size_t kBytes = 256 << 20;
  std::printf("plain socket         %8.0f MB/s\n", plain_socket(kBytes));
  for (int repeat = 0; repeat < 3; ++repeat) {
    TensorData data(Shape{kBytes / 4}, DType::F32);
    auto start = Clock::now();
    const Value x = from_data(std::move(data), device);
    device.sync();
    std::printf("upload               %8.0f MB/s\n", 1e-6 * kBytes / since(start));
    start = Clock::now();
    (void)x.data();
    std::printf("download             %8.0f MB/s\n", 1e-6 * kBytes / since(start));
  }
  // Calls: the client's time alone, as the server works beside it.
  Value x = full({16}, 1, device, DType::F32), w = full({16}, 0.5, device, DType::F32);
  for (int repeat = 0; repeat < 3; ++repeat) {
    constexpr int kCalls = 20000;
    const remote::ClientCounters before = client.counters();
    const auto start = Clock::now();
    for (int i = 0; i < kCalls; ++i) x = x * w;
    const double calling = since(start);
    device.sync();
    const double all = since(start);
    std::printf("call                 %8.0f ns (emit and all), %.1f bytes; with the server's work %.0f ns\n",
                1e9 * calling / kCalls, static_cast<double>(client.counters().bytes_sent - before.bytes_sent) / kCalls,
                1e9 * all / kCalls);
  }
  for (int repeat = 0; repeat < 3; ++repeat) {  // the client's part alone, below emit()
    constexpr int kCalls = 20000;
    std::vector<Value> made;
    for (int i = 0; i < kCalls; ++i) made.emplace_back(make_ref<Node>(Desc{Shape{16}, DType::F32}, device));
    const op::Op product = op::Binary{op::BinaryFn::Mul};
    const Value operands[] = {x, w};
    const auto start = Clock::now();
    for (Value& result : made) client.run(product, {operands, {&result, 1}});
    std::printf("call below emit      %8.0f ns\n", 1e9 * since(start) / kCalls);
    device.sync();
  }
  Value local = full({16}, 1, Device::cpu(), DType::F32), local_w = full({16}, 0.5, Device::cpu(), DType::F32);
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto start = Clock::now();
    for (int i = 0; i < 20000; ++i) local = local * local_w;
    Device::cpu().sync();
    std::printf("call on cpu          %8.0f ns with the work\n", 1e9 * since(start) / 20000);
  }
  const auto start = Clock::now();
  for (int i = 0; i < 1000; ++i) (void)x.data();
  std::printf("read of 16 elements  %8.1f us\n", 1e6 * since(start) / 1000);
}

}  // namespace
}  // namespace kiln

int main() { kiln::measure(); }
