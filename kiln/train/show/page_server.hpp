// The servers of pages share these: their options, and a secret in the address, since a machine may have other users.
#pragma once
#include <string>
#include <string_view>

#include "kiln/net/options.hpp"
#include "kiln/train/show/web.hpp"

namespace kiln::page {

/// Throws ArgumentError for a port that does not exist.
net::ServerOptions server_options(const WebConfig& config);
/// "/9f86d081884c7d659a2feaa0c55ad015/", another one each time.
std::string new_root();
/// The path below the root, "/page.js"; empty if it is not below it.
std::string below(std::string_view root, std::string_view path);
/// "http://127.0.0.1:8080/9f86d081884c7d659a2feaa0c55ad015/"
std::string address(const WebConfig& config, int port, std::string_view root);

}  // namespace kiln::page
