// A session tells its client answers, elements, and which values have failed.
#include <algorithm>
#include <utility>

#include "kiln/backend/remote/session.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::remote {

void Session::synchronize(std::uint64_t request) {
  constexpr std::size_t kMostFailed = 64;
  // Errors are thrown once, so that those of an answer that was lost are kept.
  const auto lost = std::ranges::find(failed_syncs_, request, [](const auto& each) { return each.first; });
  if (lost != failed_syncs_.end()) return answer_failed(request, *lost->second);
  Backend& backend = device_.backend();
  backend.flush();
  settle();  // what the client is told of now, sync() need not throw
  const Ref<Failure> failure = attempt([&] { backend.sync(); });
  settle();
  if (!failure) return answer(request);
  if (failed_syncs_.size() == kMostFailed) failed_syncs_.pop_front();
  failed_syncs_.emplace_back(request, failure);
  answer_failed(request, *failure);
}

void Session::require_readable(const Values& values) const {
  constexpr std::int64_t kMost = std::int64_t{4} << 30;  // where the session has no limit and holds less
  const std::int64_t most = std::max<std::int64_t>(memory_limit_ ? memory_limit_ : kMost, counters_.bytes_held);
  std::vector<Desc> descs;
  for (const Value& value : values) descs.push_back(value.node()->desc);
  const std::int64_t bytes = bytes_of(descs);
  require<MemoryError>(bytes <= most, "a read of ", text_of_bytes(bytes),
                       " at once, the session on the server may read ", text_of_bytes(most), ": read it in parts");
}

void Session::send_values(std::uint64_t request, const Values& values) {
  std::vector<TensorData> all;
  Ref<Failure> failure = known_failure(values);
  if (!failure)
    failure = attempt([&] {
      require_readable(values);
      all = device_.backend().start_read(values)->wait();
    });
  if (const Ref<Failure> known = known_failure(values)) failure = known;
  settle();
  if (failure) return answer_failed(request, *failure);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto data = std::make_shared<const TensorData>(std::move(all[i]));
    const std::size_t bytes = data->bytes().size();
    for (std::size_t offset = 0; offset < bytes; offset += kPiece) {
      const std::size_t count = std::min(kPiece, bytes - offset);
      wire::Writer head = reply(Frame::Piece, request, i, count);
      const bool is_small = count < 4096;
      if (is_small) head.bytes(data->bytes().subspan(offset, count));
      Outgoing piece{.head = head.take()};
      if (!is_small) piece.data = data, piece.offset = offset, piece.count = count;
      post(std::move(piece));
    }
  }
  answer(request);
}

void Session::post(Outgoing message) { (*post_)(std::move(message)); }

void Session::answer_failed(std::uint64_t request, const Failure& failure) {
  wire::Writer out = reply(Frame::Failed, request);
  write_roots(out, failure);
  send(std::move(out));
}

void Session::write_roots(wire::Writer& out, const Failure& failure) {
  constexpr std::size_t kMostRoots = 512;
  std::vector<Ref<Failure>> roots = failure.causes;
  if (roots.empty()) roots.emplace_back(const_cast<Failure*>(&failure));
  out.whole(roots.size());
  for (const Ref<Failure>& root : roots) {
    auto known = std::ranges::find(roots_, root, &ToldRoot::failure);
    if (known == roots_.end()) {
      if (roots_.size() == kMostRoots) roots_.pop_front();
      roots_.push_back({root, ++last_root_, false});
      known = std::prev(roots_.end());
      root->thrown += 1;  // from here on it is the client that has to throw it
    }
    const Refusal sentence = known->told ? Refusal{} : told(root->error);
    known->told = true;
    wire::write_field(out, Root{known->id, sentence.kind, sentence.sentence});
  }
}

void Session::settle() {
  constexpr std::size_t kMostAtOnce = 1 << 20;  // bytes: a message may have kMostBytes
  wire::Writer list;
  std::uint64_t count = 0;
  const auto tell = [&] {
    if (count == 0) return;
    wire::Writer out = reply(Frame::Failures, std::exchange(count, 0));
    out.bytes(std::exchange(list, {}).take());  // names are spelled anew in each message
    send(std::move(out));
  };
  const Backend& backend = device_.backend();
  while (!unsettled_.empty()) {
    const std::uint64_t number = unsettled_.front();
    if (const auto found = values_.find(number); found != values_.end()) {
      if (arriving_ && number == next_ - 1) break;
      const Value& value = found->second.value;
      if (backend.state(value) == Backend::State::Waiting) break;
      const Ref<Failure> failure = known_failure({&value, 1});
      if (failure) {
        list.whole(number);
        write_roots(list, *failure);
        ++count;
      }
    }
    unsettled_.pop_front();
    if (list.size() >= kMostAtOnce) tell();
  }
  tell();
}

}  // namespace kiln::remote
