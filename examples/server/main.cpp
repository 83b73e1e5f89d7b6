// Lends this machine's device to programs on others, with a page of its sessions.
//
//   server [--device D] [--address A] [--port N] [--token T] [--memory BYTES] [--origin O]
//
// A program elsewhere says Device::parse("remote:HOST:3000"), or has KILN_DEVICE=remote:HOST:3000 in its environment.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>

#include "kiln/backend/remote/hosting.hpp"

int main(int argc, char** argv) {
  kiln::HostOptions options;
  std::string device;
  CLI::App app("Lends a device to programs on other machines.");
  app.add_option("--device", device, "cpu, cuda, ...; the best one by default");
  app.add_option("--address", options.address, "0.0.0.0: for all who can reach this machine")->capture_default_str();
  app.add_option("--port", options.port, "the port; 0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--token", options.token, "that clients have to show, as KILN_REMOTE_TOKEN");
  app.add_option("--memory", options.limits.memory, "bytes that each session may hold; 0: no limit");
  app.add_flag("--sends-to-servers", options.sends_to_servers, "clients may send tensors from here to other servers");
  app.add_option("--origin", options.origins, "whose pages may use it from a browser, as http://127.0.0.1:8000");
  CLI11_PARSE(app, argc, argv);
  try {
    const kiln::Device lent = device.empty() ? kiln::Device::best() : kiln::Device::parse(device);
    const auto running = kiln::host(lent, options);
    std::printf("lends %s: KILN_DEVICE=remote:%s:%d; http://%s:%d/ shows its sessions; Ctrl-C ends it\n",
                lent.name().c_str(), options.address.c_str(), running->port(), options.address.c_str(),
                running->port());
    std::fflush(stdout);
    running->wait();
    const kiln::remote::HostCounters counters = running->counters();
    std::printf("%lld sessions, %lld reconnections, %lld refused\n", static_cast<long long>(counters.opened),
                static_cast<long long>(counters.resumed), static_cast<long long>(counters.refused));
  } catch (const kiln::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
