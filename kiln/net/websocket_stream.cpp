#include "kiln/net/websocket_stream.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/net/websocket_frame.hpp"

namespace kiln::net {
namespace {

constexpr std::size_t kSent = 128 << 10;     // bytes that are masked, and then sent while they are in a cache
constexpr std::size_t kReceived = 16 << 10;  // bytes that are read before it is known where they go
constexpr std::size_t kAtOnce = 256 << 10;   // bytes that are read, and unmasked while they are in a cache
constexpr std::size_t kMostControl = 125;
constexpr std::size_t kReserved = 64 << 20;  // bytes for which there is an address, and memory as they come
constexpr std::size_t kFirstPart = 4 << 20;  // of a message, for which there is memory before it has come
constexpr double kLastWord = 0.3;            // seconds for the last frame to be taken, and for what was sent to arrive

class WebSocket final : public Connection {
 public:
  WebSocket(std::unique_ptr<Stream> stream, End end, std::span<const std::byte> received, const Limits& limits,
            std::shared_ptr<void> kept)
      : kept_(std::move(kept)),
        stream_(std::move(stream)),
        end_(end),
        limits_(limits),
        most_received_(limits.message_bytes),
        out_(end == End::Client ? kSent : kReceived),
        in_(std::max(kReceived, received.size())) {
    std::ranges::copy(received, in_.begin());
    filled_ = received.size();
  }
  ~WebSocket() override {
    // A server's handler that throws drops its connection.
    close_with(end_ == End::Server && std::uncaught_exceptions() > 0 ? CloseCode::Failed : CloseCode::Normal);
    if (!ended_) drain(*stream_, kLastWord, true);
  }

  void send(std::span<const std::byte> message) override { send_parts(message, {}); }
  void send_parts(std::span<const std::byte> begin, std::span<const std::byte> end) override {
    const std::size_t length = begin.size() + end.size();
    require<ArgumentError>(length <= limits_.message_bytes, "net: a message of ", length, " bytes is longer than the ",
                           limits_.message_bytes, " of Limits::message_bytes");
    const std::lock_guard lock(send_mutex_);
    require<IoError>(!closed_ && !lost_, "net: the connection with ", peer(), " is closed: nothing more can be sent");
    try {
      send_frame(Opcode::Binary, {begin, end}, 0);
      if (const auto pong = take_pong()) send_frame(Opcode::Pong, {*pong}, 0);
    } catch (...) {
      lost_ = true;  // the other end has a part of a frame, which no other may follow
      stream_->shut();
      throw;
    }
  }

  std::optional<Message> receive() override {
    return receive_to([](auto, auto) { return std::span<std::byte>(); });
  }
  std::optional<Message> receive_to(Place place) override {
    const std::lock_guard lock(receive_mutex_);
    require<IoError>(failure_.empty(), failure_);
    if (closed_ && !lost_) return std::nullopt;
    try {
      return next(place);
    } catch (const IoError& error) {
      if (failure_.empty() && closed_ && !lost_) return std::nullopt;  // by another thread, meanwhile
      if (failure_.empty()) stream_->shut();
      failure_ = std::string(error.message());
      lost_ = true;
      throw;
    }
  }

  void take_at_most(std::size_t bytes) override { most_received_ = std::min(bytes, limits_.message_bytes); }
  void close() noexcept override { close_with(CloseCode::Normal); }
  std::string peer() const override { return stream_->peer(); }

 private:
  using Parts = std::array<std::span<const std::byte>, 2>;

  /// Bytes go through a buffer where they are masked, or few: the head and the beginning of a message are one packet.
  void send_frame(Opcode opcode, Parts parts, double stalled) {
    FrameHead head{.opcode = opcode, .length = parts[0].size() + parts[1].size()};
    const bool masks = end_ == End::Client;
    if (end_ != End::Server) head.mask = masks ? next_mask() : Mask{};
    std::size_t used = write_head(head, std::span(out_).first<kMostHead>()), at = 0;
    for (std::span<const std::byte> part : parts) {
      while (!part.empty()) {
        if (!masks && part.size() > kReceived && used == 0) {
          write_all(*stream_, part, stalled);
          break;
        }
        const std::size_t count = std::min(part.size(), out_.size() - used);
        if (masks) apply_mask(part.first(count), out_.data() + used, *head.mask, at);
        else std::memcpy(out_.data() + used, part.data(), count);
        part = part.subspan(count);
        at += count, used += count;
        if (used == out_.size()) write_all(*stream_, std::span(out_).first(std::exchange(used, 0)), stalled);
      }
    }
    write_all(*stream_, std::span(out_).first(used), stalled);
  }

  /// A client's masks must not be guessed; the system is asked for many at once.
  Mask next_mask() {
    if (next_mask_ == 0) fill_random(std::as_writable_bytes(std::span(masks_)));
    return masks_[std::exchange(next_mask_, (next_mask_ + 1) % masks_.size())];
  }

  /// Sends the last frame, unless another was or a message is under way to an end that takes nothing.
  void close_with(CloseCode code, std::string_view why = {}) noexcept {
    if (closed_.exchange(true)) return;
    wake_.wake();
    const std::unique_lock lock(send_mutex_, std::try_to_lock);
    if (!lock) return stream_->shut();
    try {
      std::array<std::byte, kMostControl> frame;
      frame[0] = static_cast<std::byte>(static_cast<int>(code) >> 8);
      frame[1] = static_cast<std::byte>(static_cast<int>(code) & 255);
      const std::size_t size = std::min(why.size(), frame.size() - 2);
      std::ranges::copy(std::as_bytes(std::span(why).first(size)), frame.begin() + 2);
      send_frame(Opcode::Close, {std::span(frame).first(2 + size)}, kLastWord);
      stream_->finish();
    } catch (...) { stream_->shut(); }
  }

  /// Tells the other end why, and throws it.
  [[noreturn]] void refuse(CloseCode code, std::string_view why) {
    close_with(code, why);
    failure_ = text("net: ", peer(), " has sent ", why);
    throw IoError(failure_);
  }

  /// Waits for bytes, after those that are there. False: there are no more.
  bool fill() {
    if (begin_ > 0) {
      std::memmove(in_.data(), in_.data() + begin_, filled_ - begin_);
      filled_ -= std::exchange(begin_, 0);
    }
    const std::size_t got = wait_for_bytes(std::span(in_).subspan(filled_));
    filled_ += got;
    return got > 0;
  }
  std::size_t wait_for_bytes(std::span<std::byte> place) {
    return read_some(*stream_, place, limits_.silence > 0 ? Deadline(limits_.silence) : Deadline::never(), wake_.get());
  }
  [[noreturn]] void fail_lost() {
    if (!closed_) ended_ = true;  // and not: woken
    throw IoError(text("net: the connection with ", peer(), " is lost: it has ended without a last word"));
  }

  FrameHead next_head() {
    for (;;) {
      const ReadHead read = read_head(std::span(in_).subspan(begin_, filled_ - begin_));
      if (read.wrong) refuse(CloseCode::Protocol, read.wrong);
      if (read.size > 0) {
        begin_ += read.size;
        if (read.head.mask.has_value() != (end_ == End::Server))
          refuse(CloseCode::Protocol, end_ == End::Server ? "a frame without a mask" : "a frame with a mask");
        return read.head;
      }
      if (!fill()) fail_lost();
    }
  }

  /// Fills a place with the frame's bytes from byte `offset` on.
  void take(const FrameHead& head, std::span<std::byte> place, std::size_t offset) {
    while (!place.empty()) {
      std::size_t got = std::min(filled_ - begin_, place.size());
      if (got > 0) {
        std::memcpy(place.data(), in_.data() + begin_, got);
        begin_ += got;
      } else if ((got = wait_for_bytes(place.first(std::min(place.size(), kAtOnce)))) == 0) fail_lost();
      if (head.mask.value_or(Mask{}) != Mask{}) apply_mask(place.first(got), place.data(), *head.mask, offset);
      place = place.subspan(got);
      offset += got;
    }
  }
  /// Appends the frame's first bytes to `to`, in memory that grows as they come: a head may promise more than is sent.
  void append(const FrameHead& head, std::size_t count, Message& to) {
    const std::size_t begin = to.size();
    if (begin == 0) to.reserve(std::min(count, kReserved));  // parts that follow grow it by factors
    for (std::size_t done = 0; done < count;) {
      const std::size_t part = std::min(count - done, std::max(kFirstPart, begin + done));
      to.resize(begin + done + part);
      take(head, std::span(to).subspan(begin + done), done);
      done += part;
    }
  }
  /// The place for the end of a message that is this frame alone.
  std::span<std::byte> place_for(const FrameHead& head, Place place) {
    constexpr std::size_t kShown = 64;
    while (filled_ - begin_ < kShown)
      if (!fill()) fail_lost();
    std::array<std::byte, kShown> shown;
    const auto masked = std::span(in_).subspan(begin_, kShown);
    if (head.mask) apply_mask(masked, shown.data(), *head.mask, 0);
    else std::ranges::copy(masked, shown.begin());
    return place(shown, static_cast<std::size_t>(head.length));
  }

  std::optional<Message> next(Place place) {
    Message message;
    for (bool within = false;;) {
      const FrameHead head = next_head();
      if (head.is_control()) {
        if (!answer(head)) return std::nullopt;
        continue;
      }
      if (head.opcode == Opcode::Text) refuse(CloseCode::Unsupported, "a text message: Kiln's messages are binary");
      if (within != (head.opcode == Opcode::Continuation))
        refuse(CloseCode::Protocol, "a part of a message that does not follow the one before");
      const std::size_t most = most_received_;
      if (message.size() > most || head.length > most - message.size())
        refuse(CloseCode::TooBig,
               text("a message that is longer than the ", most, " bytes",
                    most == limits_.message_bytes ? " of Limits::message_bytes"
                                                  : ", which are taken before the other end is known"));
      const bool is_whole = head.final && !within && head.length >= kLeastPlaced;
      const std::span<std::byte> end = is_whole ? place_for(head, place) : std::span<std::byte>();
      const std::size_t before = static_cast<std::size_t>(head.length) - end.size();
      append(head, before, message);
      take(head, end, before);
      if (head.final) return message;
      within = true;
    }
  }

  /// Answers a control frame. False: the other end has closed.
  bool answer(const FrameHead& head) {
    Message said;
    append(head, static_cast<std::size_t>(head.length), said);
    if (head.opcode == Opcode::Ping) answer_ping(std::move(said));
    if (head.opcode != Opcode::Close) return true;
    if (said.size() == 1) refuse(CloseCode::Protocol, "a last frame of one byte");
    const int code = said.size() < 2 ? static_cast<int>(CloseCode::Normal)
                                     : std::to_integer<int>(said[0]) << 8 | std::to_integer<int>(said[1]);
    close_with(CloseCode::Normal);
    ended_ = true;
    if (code == static_cast<int>(CloseCode::Normal) || code == static_cast<int>(CloseCode::GoingAway)) return false;
    const std::string why =
        said.size() > 2 ? std::string(reinterpret_cast<const char*>(said.data()) + 2, said.size() - 2) : "";
    failure_ =
        text("net: ", peer(), " has closed the connection with code ", code, why.empty() ? "" : ": ", shown(why));
    throw IoError(failure_);
  }

  /// Sends a pong now, or after the next message where the stream takes nothing now: receive() does not wait for the
  /// other end to read.
  void answer_ping(Message said) {
    {
      const std::lock_guard lock(pong_mutex_);
      pong_ = std::move(said);
    }
    const std::unique_lock lock(send_mutex_, std::try_to_lock);
    if (!lock || closed_ || lost_ || !wait_for(stream_->socket(), POLLOUT, Deadline(0))) return;
    if (const auto pong = take_pong()) send_frame(Opcode::Pong, {*pong}, 0);
  }
  std::optional<Message> take_pong() {
    const std::lock_guard lock(pong_mutex_);
    return std::exchange(pong_, std::nullopt);
  }

  const std::shared_ptr<void> kept_;
  const std::unique_ptr<Stream> stream_;
  const End end_;
  const Limits limits_;
  std::atomic<std::size_t> most_received_;
  const Wake wake_;  // receive(), when another thread closes

  std::mutex send_mutex_;
  std::vector<std::byte> out_;
  std::array<Mask, 1024> masks_;
  std::size_t next_mask_ = 0;
  std::mutex pong_mutex_;
  std::optional<Message> pong_;  // to be sent after the message that is under way

  std::mutex receive_mutex_;
  std::vector<std::byte> in_;  // bytes begin_ to filled_ have come and were not taken
  std::size_t begin_ = 0, filled_ = 0;
  std::string failure_;  // what receive() reports

  std::atomic<bool> closed_ = false;  // in an orderly way, by either end
  std::atomic<bool> lost_ = false;
  std::atomic<bool> ended_ = false;  // nothing more will come
};

}  // namespace

std::unique_ptr<Connection> websocket_over(std::unique_ptr<Stream> stream, End end, std::span<const std::byte> received,
                                           const Limits& limits, std::shared_ptr<void> kept) {
  return std::make_unique<WebSocket>(std::move(stream), end, received, limits, std::move(kept));
}

}  // namespace kiln::net
