// The functions of C++ that the page calls: those of digits, and those that choose where they compute.
#include <array>

#include "examples/web/digits/functions.hpp"
#include "examples/web/remote/server.hpp"

namespace {

using kiln::browser::function;
using page::Server;

std::shared_ptr<Server> connect(const std::string& address, const std::string& token) {
  return std::make_shared<Server>(address, token);
}
std::string server_name(const std::shared_ptr<Server>& server) { return server->name(); }
page::Traffic traffic(const std::shared_ptr<Server>& server) { return server->traffic(); }
void leave(const std::shared_ptr<Server>& server) { server->leave(); }

constexpr std::array kFunctions{
    function<connect>("connect"),
    function<server_name>("server_name"),
    function<traffic>("traffic"),
    function<leave>("leave"),
};

}  // namespace

int main() {
  kiln::browser::offer(digits::functions());
  kiln::browser::offer(kFunctions);
}
