// A small HTTP server on 127.0.0.1, which answers as a test tells it to.
#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kiln::test {

struct Request {
  std::string path;           // "/train.gz"
  std::string method;         // "GET"
  std::string authorization;  // of its Authorization header, or empty
  std::string range;          // of its Range header: "bytes=100-", or empty
};

class HttpServer {
 public:
  /// `answer` makes the whole response of a request, status line and all; the connection is closed behind it.
  explicit HttpServer(std::function<std::string(const Request&)> answer);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  std::string url(const std::string& path) const;
  /// The requests so far.
  std::vector<Request> requests() const;

 private:
  void serve();

  std::function<std::string(const Request&)> answer_;
  int listening_ = -1, port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::jthread thread_;
};

/// "HTTP/1.1 STATUS", a Content-Length of `length` where that is not negative, the other headers, the body.
std::string response(const std::string& status, const std::string& body, long length, const std::string& headers = "");

/// What a well-behaved server says when asked for `contents`, or for the end of it.
std::string served(const Request& request, const std::string& contents);

}  // namespace kiln::test
