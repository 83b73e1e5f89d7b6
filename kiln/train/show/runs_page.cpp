#include "kiln/train/show/runs_page.hpp"

#include <unistd.h>

#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/net/crypto.hpp"
#include "kiln/net/server.hpp"
#include "kiln/train/show/page.hpp"
#include "kiln/train/show/page_server.hpp"

namespace kiln {
namespace page {

net::ServerOptions server_options(const WebConfig& config) {
  require<ArgumentError>(config.port >= 0 && config.port <= 65535, "web: the port ", config.port,
                         " must be 0 to 65535");
  return {.address = {config.everywhere ? "0.0.0.0" : "127.0.0.1", config.port},
          .tls = config.tls,
          .limits = {.body_bytes = 1 << 10, .stalled = 10},
          .keep_alive = false,
          .headers = headers()};
}

std::string new_root() { return text('/', net::random_hex(), '/'); }

std::string below(std::string_view root, std::string_view path) {
  if (!net::constant_time_equal(std::string(path.substr(0, root.size())), std::string(root))) return "";
  return std::string(path.substr(root.size() - 1));
}

std::string address(const WebConfig& config, int port, std::string_view root) {
  char name[256] = "127.0.0.1";
  if (config.everywhere) ::gethostname(name, sizeof name - 1);
  return text(config.tls ? "https://" : "http://", name, ':', port, root);
}

}  // namespace page

struct RunsPage::Served {
  Served(std::function<std::string()> describes, const WebConfig& given)
      : config(given),
        describe(std::move(describes)),
        server(page::server_options(given),
               net::Routes().otherwise([this](const net::Request& request) { return answer(request); })) {}

  net::Response answer(const net::Request& request) const {
    const std::string path = page::below(root, request.path);
    if (request.method == "GET" && path == "/runs.json") return {.type = "application/json", .body = describe()};
    if (request.method == "GET")
      if (auto file = page::answer(path)) return *std::move(file);
    return {.status = 404, .body = "there is no such page\n"};
  }

  const WebConfig config;
  const std::string root = page::new_root();
  const std::function<std::string()> describe;
  net::Server server;
};

RunsPage::RunsPage(std::function<std::string()> describe, const WebConfig& config)
    : served_(std::make_unique<Served>(std::move(describe), config)) {}
RunsPage::RunsPage(RunsPage&&) noexcept = default;
RunsPage::~RunsPage() = default;

std::string RunsPage::address() const { return page::address(served_->config, served_->server.port(), served_->root); }

}  // namespace kiln
