// A client that speaks the remote device's protocol by hand, and says of a server's answers what a test wants to know.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kiln/backend/remote/host.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::test {

class RawClient {
 public:
  explicit RawClient(remote::Host& host) {
    auto [here, there] = net::connected_pair();
    host.attach(std::move(there));
    connection_ = std::move(here);
  }
  void send(const std::vector<std::byte>& message) {
    try {
      connection_->send(message);
    } catch (const IoError&) {}  // the server has closed
  }
  void hello(const remote::Hello& hello = {}, std::uint64_t protocol = remote::kProtocol) {
    wire::Writer out;
    remote::begin(out, remote::Frame::Hello);
    wire::write_header(out);
    out.whole(protocol);
    wire::write_field(out, hello);
    send(out.take());
  }
  /// A Work frame with these entries; the first has number 1.
  void work(const std::function<void(wire::Writer&)>& entries) {
    remote::begin(out_, remote::Frame::Work);
    out_.whole(++frames_);
    entries(out_);
    send(out_.take());
  }
  void bye() { send({std::byte{static_cast<std::uint8_t>(remote::Frame::Bye)}}); }
  void close() { connection_->close(); }
  std::optional<net::Message> receive() {
    try {
      return connection_->receive();
    } catch (const IoError&) { return std::nullopt; }
  }

  /// What the server says until it closes the connection: the sentence with which it ends the session, or else "goes on: "
  /// and the first sentence about a value or a request; empty where it says nothing.
  std::string told() {
    std::string said;
    while (const auto message = receive()) {
      using remote::Frame;
      wire::Reader in("the server", *message);
      const auto type = static_cast<Frame>(in.byte());
      if (type == Frame::Welcome || type == Frame::Offer) continue;
      if (type == Frame::Refusal) wire::read_header(in);
      else
        for (int i = 0; i < 3; ++i) (void)in.whole();  // Progress
      if (type == Frame::Refusal || type == Frame::Goodbye) return refusal_in(in);
      if (!said.empty()) continue;
      if (type == Frame::Failures && in.whole() > 0) said = first_root(in);
      if (type == Frame::Failed) said = first_root(in);
    }
    return said.empty() ? "" : "goes on: " + said;
  }

 private:
  static std::string refusal_in(wire::Reader& in) {
    remote::Refusal refusal;
    wire::read_field(in, refusal);
    return refusal.sentence;
  }
  /// Behind the number of a value or a request.
  static std::string first_root(wire::Reader& in) {
    (void)in.whole();
    if (in.whole() == 0) return "no root";
    remote::Root root;
    wire::read_field(in, root);
    return root.sentence;
  }

  std::unique_ptr<net::Connection> connection_;
  wire::Writer out_;  // of all frames, as names are spelled once
  std::uint64_t frames_ = 0;
};

/// The entry by which a session gets a ticket; the request's number is 1.
inline void write_expect(wire::Writer& out, const Desc& desc) {
  wire::Writer described;
  wire::write_desc(described, desc);
  const std::vector<std::byte> bytes = described.take();
  remote::begin(out, remote::Entry::Expect), out.whole(1);
  out.whole(bytes.size()), out.bytes(bytes);
}

inline void write_upload(wire::Writer& out, const Desc& desc, std::size_t bytes) {
  remote::begin(out, remote::Entry::Upload);
  wire::write_desc(out, desc);
  out.whole(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out.byte(0);
}

}  // namespace kiln::test
