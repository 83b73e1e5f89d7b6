// Requests of a remote device to its server: reads, counters, recordings, and values that go to another server.
#include "kiln/backend/remote/remote.hpp"

#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {
namespace {

/// Returns the bytes of a description by themselves: names in them refer to nothing that was written before.
std::string described(const Desc& desc) {
  wire::Writer out;
  wire::write_desc(out, desc);
  const std::vector<std::byte> bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

template <class... Fields>
Ref<Request> Remote::ask(Entry entry, Inputs values, const Fields&... fields) {
  const bool reads = entry == Entry::Read;
  auto request = make_ref<Request>(link_->next_request(), reads ? Values(values.begin(), values.end()) : Values());
  writing([&] {
    wire::Writer own;
    write(own, entry, request->number());
    if (reads) own.whole(values.size());
    for (const Value& value : values) own.whole(number_of(value));
    (wire::write_field(own, fields), ...);
    request->ask = own.take();
    out_.bytes(request->ask);
    link_->post_request(request, out_.take());
  });
  return request;
}

template <class... Fields>
void Remote::tell(Entry entry, const Fields&... fields) {
  writing([&] {
    write(out_, entry, fields...);
    send_entries();
  });
}

template <class Answer, class... Fields>
Answer Remote::ask_for(Entry entry, const Fields&... fields) {
  const std::vector<std::byte> bytes = ask(entry, {}, fields...)->answer();
  wire::Reader in(name_, bytes);
  Answer answer;
  wire::read_field(in, answer);
  return answer;
}

TensorData Remote::download(const Value& value) { return std::move(start_read({&value, 1})->wait()[0]); }

Ref<PendingRead> Remote::start_read(Inputs values) {
  if (Ref<Failure> failure = failure_among(values)) return failed_read(std::move(failure));
  return ask(Entry::Read, values);
}

void Remote::flush() {
  if (!link_->is_lost()) tell(Entry::Flush);
}

void Remote::sync() {
  const Ref<Failure> failure = attempt([&] { ask(Entry::Sync, {})->wait(); });
  if (failure && link_->is_lost()) throw_failure(*failure);
  link_->unreported().note(failure, Requester::current());
  link_->unreported().throw_all();
}

/// A value that goes from one server to another.
class Remote::Sent final : public PendingMove {
 public:
  Sent(Value value, Device to, std::string ticket, Ref<Request> given)
      : value_(std::move(value)), to_(std::move(to)), ticket_(std::move(ticket)), given_(std::move(given)) {}
  bool ready() const override { return given_->ready(); }
  Value take() override {
    const Ref<Failure> refused = attempt([&] { given_->wait(); });
    if (!refused) return static_cast<Remote&>(to_.backend()).take(value_.node()->desc, ticket_, to_);
    // They cannot reach each other, or the value has failed, of which the read tells.
    return Value(to_.backend().upload(value_.device().backend().download(value_), to_));
  }

 private:
  const Value value_;
  const Device to_;
  const std::string ticket_;
  const Ref<Request> given_;
};

Ref<PendingMove> Remote::start_move(const Value& value, const Device& to) {
  auto* const here = dynamic_cast<Remote*>(&value.device().backend());
  auto* const there = dynamic_cast<Remote*>(&to.backend());
  if (!here || !there || !here->link_->welcome().sends_to_servers) return {};
  if (there->link_->stays_here() && !here->link_->stays_here()) return {};
  throw_if_failed(value);
  Ticket ticket;
  const Ref<Failure> refused =
      attempt([&] { ticket = there->ask_for<Ticket>(Entry::Expect, described(value.node()->desc)); });
  if (refused) return {};  // the other server takes no values of that size: the usual way tells
  Ref<Request> given = here->ask(Entry::Give, {&value, 1}, there->link_->address(), ticket);
  return make_ref<Sent>(value.detach(), to, std::move(ticket.id), std::move(given));
}

Value Remote::take(const Desc& desc, const std::string& ticket, const Device& device) {
  Value result(make_ref<Node>(desc, device));
  writing([&] {
    begin(out_, Entry::Take);
    wire::write_desc(out_, desc);
    out_.text(ticket);
    hold(*result.node());
    send_entries();  // that server keeps the value only for some minutes
  });
  return result;
}

MemoryStatistics Remote::memory() const { return const_cast<Remote*>(this)->ask_for<MemoryStatistics>(Entry::Memory); }

std::uint64_t Remote::start_recording() {
  const std::uint64_t recording = link_->next_request();
  tell(Entry::Record, recording);
  return recording;
}
std::vector<ProfileRow> Remote::recorded(std::uint64_t recording) {
  return ask_for<std::vector<ProfileRow>>(Entry::Recorded, recording);
}
void Remote::stop_recording(std::uint64_t recording) noexcept {
  without_errors([&] { tell(Entry::StopRecording, recording); });  // a session that has ended records no more
}

void Remote::set_memory_limit(std::int64_t bytes) { tell(Entry::SetLimit, bytes); }
void Remote::reset_memory_peak() { tell(Entry::ResetPeak); }
void Remote::release_memory() { tell(Entry::ReleaseMemory); }

ClientCounters Remote::counters() const {
  const std::lock_guard lock(mutex_);
  return {calls_,
          static_cast<std::int64_t>(forms_.size()),
          static_cast<std::int64_t>(next_),
          link_->sent_bytes(),
          link_->received_bytes(),
          link_->reconnections()};
}

}  // namespace kiln::remote
