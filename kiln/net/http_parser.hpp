// HttpParser turns bytes into requests and responses of HTTP/1.1 (by Boost.Beast), within limits.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "kiln/net/http.hpp"

namespace kiln::net {

/// HttpError says that what was received is no request, or larger than the limits: with the status to answer.
class HttpError : public std::runtime_error {
 public:
  HttpError(int status, const std::string& what) : std::runtime_error(what), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

class HttpParser {
 public:
  virtual ~HttpParser() = default;
  /// Takes as many of the bytes as it can use: a header only whole, so that bytes which are not taken must come again,
  /// with more. Throws HttpError.
  virtual std::size_t put(std::span<const std::byte> bytes) = 0;
  virtual bool has_header() const = 0;
  virtual bool is_done() const = 0;
  /// The other end sends nothing more, which ends some bodies. Throws HttpError where something is missing.
  virtual void end() = 0;
  /// Returns what was parsed. A response has its status as `method`.
  virtual Request& message() = 0;
  /// Returns whether the connection stays open after this message.
  virtual bool keeps_alive() const = 0;

  static std::unique_ptr<HttpParser> of_request(const Limits& limits);
  static std::unique_ptr<HttpParser> of_response(const Limits& limits);
};

}  // namespace kiln::net
