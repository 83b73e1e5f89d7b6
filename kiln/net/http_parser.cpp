#include "kiln/net/http_parser.hpp"

#include <utility>  // Boost.Asio 1.74 does not include it

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace kiln::net {
namespace {

namespace http = boost::beast::http;

std::string copied(boost::beast::string_view text) { return {text.data(), text.size()}; }

template <bool is_request>
class BeastParser final : public HttpParser {
 public:
  explicit BeastParser(const Limits& limits) : header_bytes_(limits.header_bytes) {
    parser_.header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(limits.header_bytes, 1u << 30)));
    parser_.body_limit(limits.body_bytes);
  }

  std::size_t put(std::span<const std::byte> bytes) override {
    if (is_request && !begun_ && !bytes.empty()) {
      const char first = static_cast<char>(bytes[0]);
      if ((first < 'A' || first > 'Z') && (first < 'a' || first > 'z')) throw HttpError(400, kNoRequest);
      begun_ = true;
    }
    boost::system::error_code error;
    const std::size_t used = parser_.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    if (error == http::error::need_more) error = {};
    if (error) fail_with(error, bytes);
    if (parser_.is_header_done() && !header_) {
      take_header();  // before any of the body, whose trailers are no headers
      parser_.eager(true);
    }
    if (parser_.is_done()) message_.body = std::move(parser_.get().body());
    return used;
  }
  bool has_header() const override { return header_; }
  bool is_done() const override { return parser_.is_done(); }
  void end() override {
    boost::system::error_code error;
    if (!parser_.got_some()) throw HttpError(400, "the connection ends before a message begins");
    parser_.put_eof(error);
    if (error) throw HttpError(400, "the message ends before its end");
    message_.body = std::move(parser_.get().body());
  }
  Request& message() override { return message_; }
  bool keeps_alive() const override { return parser_.keep_alive(); }

 private:
  static constexpr const char* kNoRequest = "this is no request of HTTP/1.1";

  [[noreturn]] void fail_with(const boost::system::error_code& error, std::span<const std::byte> bytes) const {
    const std::string_view head(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (error == http::error::header_limit && head.find("\r\n") < header_bytes_)
      throw HttpError(431, "the header of the request is longer than this server takes");
    if (error == http::error::body_limit)
      throw HttpError(413, "the body of the request is longer than this server takes");
    throw HttpError(400, std::string(kNoRequest) + " (" + error.message() + ')');
  }

  void take_header() {
    header_ = true;
    const auto& head = parser_.get();
    if constexpr (is_request) {
      message_.method = copied(head.method_string());
      const std::string target = copied(head.target());
      const std::size_t question = target.find('?');
      message_.path = target.substr(0, question);
      if (question != target.npos) message_.query = target.substr(question + 1);
      if (head.version() / 10 != 1) throw HttpError(505, "this server speaks HTTP/1.1");
    } else {
      message_.method = std::to_string(head.result_int());
    }
    for (const auto& field : head) message_.headers.emplace_back(copied(field.name_string()), copied(field.value()));
  }

  const std::size_t header_bytes_;
  http::parser<is_request, http::string_body> parser_;
  Request message_;
  bool begun_ = false, header_ = false;
};

}  // namespace

std::unique_ptr<HttpParser> HttpParser::of_request(const Limits& limits) {
  return std::make_unique<BeastParser<true>>(limits);
}
std::unique_ptr<HttpParser> HttpParser::of_response(const Limits& limits) {
  return std::make_unique<BeastParser<false>>(limits);
}

}  // namespace kiln::net
