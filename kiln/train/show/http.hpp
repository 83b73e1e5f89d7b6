// A small HTTP/1.1 server for the program's own page: responses, and streams of server-sent events (WHATWG HTML, 9.2).
// One thread serves all clients; a client that reads too slowly, sends too much or is silent is disconnected, so that
// it blocks no others.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::http {

struct Request {
  std::string method, path, host, origin;
};
struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body = {};
  bool stream = false;  // `body` is the first event; broadcast() sends the others
};

class Server {
 public:
  /// Listens on 127.0.0.1 (`everywhere`: on all addresses); port 0 selects a free one. Throws IoError.
  explicit Server(int port, bool everywhere = false);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  int port() const { return port_; }
  /// Waits up to `milliseconds` for clients and serves them. Requests whose Host names another machine are refused,
  /// unless `everywhere`: a page from elsewhere could have resolved its own name to this address.
  void serve(int milliseconds, const std::function<Response(const Request&)>& answer);
  /// Sends an event to all streams. The text must not contain line breaks.
  void broadcast(std::string_view event, std::string_view text);
  std::size_t streams() const;

 private:
  struct Client {
    int socket;
    std::string in, out;
    bool stream = false, closing = false;
    double heard;          // seconds
    std::size_t said = 0;  // bytes
  };
  void accept_clients(const std::function<Response(const Request&)>& answer);
  void drop_idle_client();
  void read(Client& client, const std::function<Response(const Request&)>& answer);
  void write(Client& client);
  bool is_welcome(std::string_view host) const;

  int listening_ = -1, port_ = 0;
  bool everywhere_;
  double accept_paused_until_ = 0;  // seconds
  std::vector<Client> clients_;
};

/// Compares two strings in a time that does not depend on how much of them is equal.
bool are_same_secret(std::string_view a, std::string_view b);

/// "event: NAME\ndata: TEXT\n\n"
std::string event_text(std::string_view event, std::string_view text);

}  // namespace kiln::http
