#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "kiln/collective/socket_ranks.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

/// The number in an environment variable; `otherwise` where it is not set.
int number_of(const char* name, int otherwise) {
  const char* const said = std::getenv(name);
  if (!said || !*said) return otherwise;
  const std::string_view text(said);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require<IoError>(error == std::errc() && end == text.data() + text.size(), "ranks: ", name, " says ", shown(text),
                   ", which is not a number");
  return number;
}

/// The first host of a list: "node07" for Slurm's "node[07-09,12],login".
std::string first_host(std::string_view list) {
  const std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == list.npos || comma < bracket) return std::string(list.substr(0, comma));
  const std::size_t end = list.find_first_of(",-]", bracket + 1);
  return std::string(list.substr(0, bracket)) +
         std::string(list.substr(bracket + 1, std::min(end, list.size()) - bracket - 1));
}

}  // namespace

Launch Launch::from_environment() {
  Launch launch;
  const auto said = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  if (!said("RANK").empty() && !said("WORLD_SIZE").empty()) {
    launch.rank = number_of("RANK", 0);
    launch.size = number_of("WORLD_SIZE", 1);
    if (const auto address = said("MASTER_ADDR"); !address.empty()) launch.address = address;
    launch.port = number_of("MASTER_PORT", launch.port);
    // torchrun's own store listens at that port then.
    if (said("TORCHELASTIC_USE_AGENT_STORE") == "True") ++launch.port;
  } else if (!said("SLURM_PROCID").empty() && !said("SLURM_STEP_NUM_TASKS").empty()) {
    launch.rank = number_of("SLURM_PROCID", 0);
    launch.size = number_of("SLURM_STEP_NUM_TASKS", 1);
    if (const auto hosts = said("SLURM_STEP_NODELIST"); !hosts.empty()) launch.address = first_host(hosts);
    // Steps of jobs on one machine must not connect with each other.
    constexpr int kPorts = 10'000;
    launch.port = 20'000 + (number_of("SLURM_JOB_ID", 0) + 97 * number_of("SLURM_STEP_ID", 0)) % kPorts;
  }
  launch.secret = said("KILN_RANK_SECRET");
  const auto encrypted = said("KILN_RANK_TLS");
  require<IoError>(encrypted.empty() || encrypted == "0" || encrypted == "1",
                   "ranks: KILN_RANK_TLS must be 0 or 1, got ", shown(encrypted));
  require<IoError>(
      encrypted != "1" || !launch.secret.empty(),
      "ranks: KILN_RANK_TLS=1 without a secret would hide the data from everyone but those who connect: set "
      "KILN_RANK_SECRET, the same for all ranks (openssl rand -hex 32)");
  launch.encrypted = encrypted != "0";
  require<IoError>(launch.size >= 1 && launch.rank >= 0 && launch.rank < launch.size, "ranks: the launcher says rank ",
                   launch.rank, " of ", launch.size);
  require<IoError>(launch.port > 0 && launch.port < 65'536, "ranks: the port ", launch.port, " must be 1 to 65535");
  return launch;
}

}  // namespace kiln
