// Server-sent events (WHATWG HTML, 9.2) are what a server tells pages that stay open.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/net/socket.hpp"

namespace kiln::net {

/// Returns "event: NAME\ndata: TEXT\n\n". The text must not contain line breaks.
std::string event_text(std::string_view event, std::string_view text);

/// EventStream holds what one page has still to be sent. A server's thread takes it; whoever tells events never waits.
class EventStream {
 public:
  explicit EventStream(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  void push(std::string_view text);
  /// Ends the stream once all of it was taken.
  void end();
  /// Returns all that waits; nothing, if nothing does.
  std::string take();
  /// Returns whether nothing more will come: it was ended, or the page was too slow for `most_bytes`.
  bool is_over() const;
  /// Whoever polls this descriptor wakes when there is something to take.
  int wakes() const { return wake_.get(); }
  /// The page has gone: nothing is kept for it any more.
  void leave();
  bool has_left() const;

 private:
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::string waiting_;
  bool ended_ = false, slow_ = false, left_ = false;
  const Wake wake_;
};

/// Events go to any number of pages. All functions may be called from any thread.
class Events {
 public:
  /// A page that has more than `most_bytes` still to read is too slow, and is disconnected.
  explicit Events(std::size_t most_bytes = 4 << 20) : most_bytes_(most_bytes) {}
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Returns a new page's stream, which begins with `first` and gets every later event.
  std::shared_ptr<EventStream> subscribe(std::string_view first = {});
  /// Sends an event to all pages. The text must not contain line breaks.
  void send(std::string_view event, std::string_view text);
  std::size_t streams() const;
  /// Ends all streams, and waits at most so many seconds until the pages have been sent the rest.
  void finish(double seconds);

 private:
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<EventStream>> streams_;
};

}  // namespace kiln::net
