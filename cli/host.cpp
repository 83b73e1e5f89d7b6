#include "cli/commands.hpp"
#include "kiln/backend/remote/hosting.hpp"

namespace kiln::cli {

void host_devices(const HostCommand& options, const Print& print) {
  std::vector<Device> devices;
  for (const std::string& name : options.devices) devices.push_back(Device::parse(name));
  if (devices.empty()) devices.push_back(Device::best());
  const auto running = kiln::host(devices, {.address = options.address,
                                            .port = options.port,
                                            .token = options.token,
                                            .certificate = options.certificate,
                                            .key = options.key,
                                            .limits = {.memory = options.memory},
                                            .sends_to_servers = options.sends_to_servers,
                                            .origins = options.origins});
  std::string names;
  for (const Device& device : devices) names += (names.empty() ? "" : ", ") + device.name();
  print(text("lends ", names, " at ", options.address, ':', running->port(), "; Ctrl-C ends it\n"));
  running->wait();
}

}  // namespace kiln::cli
