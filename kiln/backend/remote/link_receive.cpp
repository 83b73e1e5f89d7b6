// The messages of a server are read here: its answers, pieces of reads, and failures of values.
#include <algorithm>

#include "kiln/backend/remote/link.hpp"

namespace kiln::remote {
namespace {

constexpr double kPackedRate = 40e6;  // bytes a second; a faster link gains nothing, as zlib packs 50 to 100 million

}  // namespace

/// The place for a long message, if it is a piece of a read: its bytes are the last ones.
std::span<std::byte> Link::place_in(std::span<const std::byte> begin, std::size_t length, Ref<Request>& request) {
  try {
    wire::Reader in("", begin);
    if (static_cast<Frame>(in.byte()) != Frame::Piece) return {};
    Progress progress;
    wire::read_field(in, progress);
    request = pending(in.whole());
    const std::uint64_t value = in.whole(), count = in.whole();
    const bool is_rest = count == length - (begin.size() - in.left());
    return request && is_rest ? request->place_for(value, static_cast<std::size_t>(count)) : std::span<std::byte>();
  } catch (const Error&) { return {}; }  // receive() says what is wrong
}

void Link::receive(std::span<const std::byte> message, std::size_t placed) {
  wire::Reader in(text("the server ", peer_), message);
  const auto type = static_cast<Frame>(in.byte());
  if (type == Frame::Welcome) return;  // it came twice
  Progress progress;
  wire::read_field(in, progress);
  if (type != Frame::Goodbye) {
    if (progress.sequence <= sequence_) return;  // it came twice
    // What the network has lost is asked for again, over another connection.
    require<IoError>(progress.sequence == ++sequence_, peer_, ": a message is missing");
  }
  outbox_.confirm(progress.applied);
  if (const double rate = may_pack_ ? outbox_.rate() : 0; rate > 0) {
    may_pack_ = false;
    if (rate < kPackedRate) pack();
  }
  switch (type) {
    case Frame::Ack: break;
    case Frame::Failures:
      for (std::uint64_t count = in.whole(); count > 0; --count) {
        const std::uint64_t value = in.whole();
        const Ref<Failure> failure = read_roots(in, requester_of(value));
        const std::lock_guard lock(mutex_);
        failed_.insert_or_assign(value, failure);
        any_failed_ = true;
      }
      break;
    case Frame::Piece:
      if (const Ref<Request> request = pending(in.whole())) request->take_piece(in, placed);
      break;
    case Frame::Answer:
    case Frame::Failed: {
      const Ref<Request> request = pending(in.whole());
      // Roots are told once: they are read also where nobody waits any more.
      const Ref<Failure> failure = type == Frame::Failed ? read_roots(in, nullptr) : Ref<Failure>();
      if (!request) break;
      if (type == Frame::Answer) request->complete(in);
      else request->fail(failure);
      const std::lock_guard lock(mutex_);
      requests_.erase(request->number());
      break;
    }
    case Frame::Goodbye: {
      Refusal why;
      wire::read_field(in, why);
      end(why);
      break;
    }
    default: in.wrong("a frame of kind ", static_cast<int>(type));
  }
  if (progress.settled > settled_.load(std::memory_order_relaxed))
    settled_.store(progress.settled, std::memory_order_release);
}

Ref<Failure> Link::read_roots(wire::Reader& in, const Ref<Requester>& requester) {
  constexpr std::size_t kMostRoots = 512;
  Ref<Failure> all;
  for (std::size_t count = in.length(in.left(), "failures"); count > 0; --count) {
    Root root;
    wire::read_field(in, root);
    Ref<Failure> failure;
    {
      const std::lock_guard lock(mutex_);
      Ref<Failure>& known = roots_[root.id];
      if (!known) known = attempt([&] { raise(root.kind, root.sentence); });
      failure = known;
      if (roots_.size() > kMostRoots)
        roots_.erase(std::ranges::min_element(roots_, {}, [](const auto& e) { return e.first; }));
    }
    unreported_.note(failure, requester);
    all = joined(all, failure);
  }
  return all;
}

void Link::end(const Refusal& why) {
  lose(why);
  fail_requests();
}

void Link::lose(const Refusal& why) {
  const std::string device = text("remote device at ", peer_, ": ");
  const bool is_named = why.sentence.starts_with(device);
  lose(attempt([&] { raise(why.kind, is_named ? why.sentence : device + why.sentence); }));
}

/// Notes why the session has ended, if it has not ended before. It needs no memory. The thread that receives finds out, and
/// fails the requests: whoever calls this may hold locks.
void Link::lose(const Ref<Failure>& why) {
  {
    const std::lock_guard lock(mutex_);
    if (why_lost_) return;
    why_lost_ = why;
    lost_.store(true, std::memory_order_release);
    if (connection_) connection_->close();
  }
  outbox_.close();
}

/// Fails what waits for an answer of a session that has ended. Without locks: it wakes programs, which may call functions.
void Link::fail_requests() {
  std::map<std::uint64_t, Ref<Request>> requests;
  Ref<Failure> failure;
  {
    const std::lock_guard lock(mutex_);
    if (!why_lost_) return;
    failure = why_lost_;
    requests.swap(requests_);
  }
  for (const auto& [number, request] : requests) request->fail(failure);
}

void Link::note_requester(std::uint64_t value) {
  const Ref<Requester> current = Requester::current();
  const std::lock_guard lock(mutex_);
  if (!requesters_.empty() && requesters_.back().requester == current) return;
  while (requesters_.size() > 1 && requesters_[1].value <= settled()) requesters_.pop_front();
  requesters_.push_back({value, current});
}

Ref<Requester> Link::requester_of(std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  Ref<Requester> found;
  for (const RequestedFrom& each : requesters_)
    if (each.value <= value || !found) found = each.requester;
  return found;
}

Ref<Failure> Link::failure_of(std::uint64_t value) {
  if (is_lost()) {
    const std::lock_guard lock(mutex_);
    return why_lost_;
  }
  if (!any_failed_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = failed_.find(value);
  return found == failed_.end() ? Ref<Failure>() : found->second;
}

void Link::forget_failure(std::uint64_t value) {
  if (!any_failed_.load(std::memory_order_acquire)) return;
  Ref<Failure> forgotten;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  if (const auto found = failed_.find(value); found != failed_.end()) {
    forgotten = std::move(found->second);
    failed_.erase(found);
  }
}

}  // namespace kiln::remote
