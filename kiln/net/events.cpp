#include "kiln/net/events.hpp"

#include <algorithm>
#include <utility>

#include "kiln/core/text.hpp"

namespace kiln::net {

std::string event_text(std::string_view event, std::string_view text) {
  return kiln::text("event: ", event, "\ndata: ", text, "\n\n");
}

void EventStream::push(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (ended_ || slow_ || left_) return;
  slow_ = waiting_.size() + text.size() > most_bytes_ && !waiting_.empty();
  if (slow_) waiting_ = {};
  else waiting_ += text;
  wake_.wake();
}
void EventStream::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  wake_.wake();
}
std::string EventStream::take() {
  const std::lock_guard lock(mutex_);
  wake_.clear();
  return std::exchange(waiting_, {});
}
bool EventStream::is_over() const {
  const std::lock_guard lock(mutex_);
  return slow_ || left_ || (ended_ && waiting_.empty());
}
void EventStream::leave() {
  const std::lock_guard lock(mutex_);
  left_ = true;
  waiting_ = {};
}
Events::~Events() {
  const std::lock_guard lock(mutex_);
  for (const auto& stream : streams_) stream->end();
}

std::shared_ptr<EventStream> Events::subscribe(std::string_view first) {
  auto stream = std::make_shared<EventStream>(most_bytes_);
  if (!first.empty()) stream->push(first);
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const auto& each) { return each->is_over(); });
  streams_.push_back(stream);
  return stream;
}

void Events::send(std::string_view event, std::string_view text) {
  const std::string message = event_text(event, text);
  const std::lock_guard lock(mutex_);
  for (const auto& stream : streams_) stream->push(message);
  std::erase_if(streams_, [](const auto& each) { return each->is_over(); });
}

std::size_t Events::streams() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(streams_, [](const auto& each) { return !each->is_over(); }));
}

}  // namespace kiln::net
