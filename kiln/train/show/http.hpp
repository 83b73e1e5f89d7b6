// A small HTTP/1.1 server for a page of the program's own: answers, and streams of server-sent events (WHATWG HTML, 9.2). One
// thread serves all; a client that reads too slowly, sends too much or says nothing is let go, and keeps nobody out.
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
  bool stream = false;  // `body` is the first event; others follow by broadcast()
};

class Server {
 public:
  /// Listens on 127.0.0.1 (`everywhere`: on all addresses); port 0 stands for any that is free. Throws IoError.
  explicit Server(int port, bool everywhere = false);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  int port() const { return port_; }
  /// Waits up to `milliseconds` for clients and serves those that there are. Requests whose Host is another machine's name are
  /// refused, unless everybody may ask: a page from elsewhere could have its name lead here.
  void serve(int milliseconds, const std::function<Response(const Request&)>& answer);
  /// To all streams. Text without an end of line.
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
  void let_one_go();
  void read(Client& client, const std::function<Response(const Request&)>& answer);
  void write(Client& client);
  bool is_welcome(std::string_view host) const;

  int listening_ = -1, port_ = 0;
  bool everywhere_;
  double deaf_until_ = 0;  // seconds
  std::vector<Client> clients_;
};

/// Whether two words are the same, in a time that does not tell how much of them is.
bool are_same_secret(std::string_view a, std::string_view b);

/// "event: NAME\ndata: TEXT\n\n"
std::string event_text(std::string_view event, std::string_view text);

}  // namespace kiln::http
