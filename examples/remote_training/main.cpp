// The guide, unchanged, on a device of a server: only the device's name differs.
//
//   remote_training [HOST:PORT] [EPOCHS] [BATCH]    without an address it lends this machine's processor to itself
#include <cstdio>
#include <memory>
#include <string>

#include "examples/guide/train.hpp"
#include "kiln/backend/remote/hosting.hpp"
#include "kiln/core/config/arguments.hpp"

namespace {
constexpr std::string_view kHelp = R"(The guide, unchanged, on a device of a server: only the device's name differs.

  remote_training [HOST:PORT] [EPOCHS] [BATCH]    without an address it lends this machine's processor to itself)";
}  // namespace

int main(int argc, char** argv) {
  if (const auto status = kiln::answered(argc, argv, kHelp, 3)) return *status;
  try {
    std::unique_ptr<kiln::Hosting> own;
    std::string address = argc > 1 ? argv[1] : "";
    if (address.empty()) {
      own = kiln::host(kiln::Device::cpu(), {.port = 0});
      address = kiln::text("127.0.0.1:", own->port());
    }
    guide::TrainOptions options;
    options.settings.epochs = argc > 2 ? kiln::whole_number(argv[2], "EPOCHS", 1, 1000000) : 1;
    if (argc > 3) options.settings.batch_size = kiln::whole_number(argv[3], "BATCH", 1, 1000000);
    options.artifacts = "artifacts/remote_training";
    options.watch.plain = true;
    guide::train(options, kiln::Device::parse("remote:" + address));
  } catch (const kiln::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
