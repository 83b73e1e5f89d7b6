// A server for the tests beside it, which is another process: it lends the processor at a port (0: a free one), prints the
// port, and runs until it is killed. Further words name the operations that it registers.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "kiln/backend/remote/hosting.hpp"
#include "tests/backend/remote/own_ops.hpp"

int main(int count, char** words) {
  if (count < 2) return std::fputs("remote_peer PORT [shift | other-shift]...\n", stderr), 2;
  for (int i = 2; i < count; ++i) {
    if (std::string_view(words[i]) == "shift") kiln::register_custom_op<kiln::test::Shift>("remote_test.shift");
    if (std::string_view(words[i]) == "other-shift")
      kiln::register_custom_op<kiln::test::OtherShift>("remote_test.shift");
  }
  const auto running = kiln::host(kiln::Device::cpu(), {.port = std::atoi(words[1])});
  std::printf("%d\n", running->port());
  std::fflush(stdout);
  running->wait();
}
