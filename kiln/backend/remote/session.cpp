// This file reads frames and their entries: values that come, go and are asked for. session_calls.cpp has what computes,
// session_answers.cpp what the client is told.
#include "kiln/backend/remote/session.hpp"

#include <algorithm>
#include <chrono>

#include "kiln/backend/inspect/profile_log.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {

Session::Session(std::uint64_t number, Device device, const std::string& peer, const SessionLimits& limits,
                 Exchange& exchange)
    : number_(number),
      device_(std::move(device)),
      limits_(limits),
      exchange_(exchange),
      reader_(text("the client ", peer)),
      memory_limit_(limits.memory) {}

Session::~Session() {
  values_.clear();
  exchange_.forget(number_);
  without_errors([&] { device_.flush(); });
  const RequestedBy asking(requester_);
  without_errors([&] { device_.sync(); });  // takes back the errors that the client did not ask for
}

void Session::leave() {
  const RequestedBy asking(requester_);
  without_errors([&] { device_.flush(); });  // a client that comes back is told by settle()
}

std::span<std::byte> Session::place_in(std::span<const std::byte> begin, std::size_t length) const {
  try {
    wire::Reader in("", begin);
    const bool is_next = static_cast<Frame>(in.byte()) == Frame::Work && in.whole() == applied() + 1;
    if (!is_next || static_cast<Entry>(in.whole()) != Entry::Piece || !arriving_ || !arriving_->to) return {};
    const std::uint64_t count = in.whole();
    const std::span<std::byte> left = arriving_->to->left();
    const bool is_rest = count == length - (begin.size() - in.left()) && count <= left.size();
    return is_rest ? left.first(static_cast<std::size_t>(count)) : std::span<std::byte>();
  } catch (const Error&) { return {}; }  // apply() says what is wrong
}

void Session::apply(std::span<const std::byte> frame, std::size_t placed, Post post) {
  const auto start = std::chrono::steady_clock::now();
  reader_.open(frame);
  const std::uint64_t number = reader_.whole();
  if (number <= applied()) return;  // sent again after a lost connection
  require<IoError>(number == applied() + 1, reader_.source(), ": frame ", number, " follows frame ", applied());
  counters_.frames += 1;  // before its answers, so that a client that has them finds it counted
  post_ = &post;
  placed_ = placed;
  const RequestedBy asking(requester_);
  records_.emplace(logs_);
  if (!causes_.empty()) scope_.emplace(causes_, FailsWith::ReplaceOuter{});
  struct Leave {
    Session& session;
    ~Leave() {
      session.scope_.reset();
      session.records_.reset();
      session.post_ = nullptr;
    }
  } const leave{*this};
  while (reader_.left()) apply_entry(reader_.whole());
  applied_ = number;
  settle();
  counters_.microseconds +=
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
  require<DeviceError>(limits_.seconds == 0 || static_cast<double>(counters_.microseconds) < 1e6 * limits_.seconds,
                       "this session has computed for ", limits_.seconds,
                       " seconds, which is what the server allows: connect again for a new one");
  send(reply(Frame::Ack));
}

void Session::forget_told() {
  sequence_ = 0;
  for (ToldRoot& root : roots_) root.told = false;
  unsettled_.clear();
  for (const auto& [number, held] : values_) unsettled_.push_back(number);
  std::ranges::sort(unsettled_);
}

void Session::apply_entry(std::uint64_t code) {
  if (code >= kFirstForm) {
    if (code - kFirstForm >= forms_.size()) reader_.wrong("form ", code - kFirstForm, " of ", forms_.size());
    if (arriving_) reader_.wrong("a call within an upload");
    return call(forms_[static_cast<std::size_t>(code - kFirstForm)]);
  }
  const auto entry = static_cast<Entry>(code);
  switch (entry) {
    case Entry::Read:
    case Entry::Sync:
    case Entry::Memory:
    case Entry::Give:
    case Entry::Expect:
    case Entry::Recorded:
      // They may stand within an upload: a client that was cut off there asks again what it had asked before.
      return apply_request(entry);
    case Entry::Pack: packs_ = true; return;  // it is found out during uploads that this pays
    case Entry::Piece: {
      const std::uint64_t count = reader_.whole();
      if (count == 0) reader_.wrong("a piece without bytes");
      return receive_piece(static_cast<std::size_t>(count));
    }
    default:
      if (arriving_) reader_.wrong("an upload is not complete");
      return apply_order(entry);
  }
}

void Session::apply_order(Entry entry) {
  Backend& backend = device_.backend();
  // Errors of values are told by settle(), those of the whole device by the next Sync.
  switch (entry) {
    case Entry::Form: return receive_form();
    case Entry::ForgetForms: return forms_.clear();
    case Entry::Free: return free_value(next_ - reader_.whole());
    case Entry::Upload: return receive_upload();
    case Entry::Causes: return set_causes(list_of_values());
    case Entry::Program: return define_program();
    case Entry::DropProgram: {
      if (const std::uint64_t number = reader_.whole(); programs_.erase(number) == 0)
        reader_.wrong("there is no program ", number);
      return;
    }
    case Entry::Replay: return replay();
    case Entry::Take: return take();
    case Entry::RunPending: {
      const Values values = list_of_values();
      return (void)without_errors([&] { backend.run_pending(values); });
    }
    case Entry::Flush: return (void)without_errors([&] { backend.flush(); });
    case Entry::SetLimit: {
      const std::int64_t wanted = reader_.integer();
      if (wanted < 1) reader_.wrong("a limit of ", wanted, " bytes");
      memory_limit_ = limits_.memory ? std::min(limits_.memory, wanted) : wanted;
      return;
    }
    case Entry::ResetPeak: return (void)without_errors([&] { backend.reset_memory_peak(); });
    case Entry::ReleaseMemory: return (void)without_errors([&] { backend.release_memory(); });
    case Entry::Record: return record(reader_.whole());
    case Entry::StopRecording: {
      const auto found = std::ranges::find(recordings_, reader_.whole());
      if (found == recordings_.end()) return;  // it was one too many
      logs_.erase(logs_.begin() + (found - recordings_.begin()));
      recordings_.erase(found);
      records_.emplace(logs_);
      return;
    }
    default: reader_.wrong("there is no entry ", static_cast<int>(entry));
  }
}

void Session::apply_request(Entry entry) {
  const std::uint64_t request = reader_.whole();
  // What is read comes first: where that throws, nobody knows where the next entry begins.
  switch (entry) {
    case Entry::Read: {
      Values values;  // by their own numbers: a request may come again, after later work
      for (std::size_t count = reader_.length(reader_.left(), "values"); count > 0; --count)
        values.push_back(held_of(reader_.whole()).value);
      return answer_by(request, [&] { send_values(request, values); });
    }
    case Entry::Sync: return answer_by(request, [&] { synchronize(request); });
    case Entry::Memory:
      return answer_by(request, [&] {
        MemoryStatistics memory = device_.backend().memory();
        if (memory_limit_) memory.limit = memory_limit_;
        answer(request, memory);
      });
    case Entry::Expect: {
      wire::Reader in(reader_.source(), reader_.bytes(reader_.length(reader_.left(), "bytes")));
      const Desc desc = wire::read_desc(in);
      return answer_by(request, [&] { answer(request, exchange_.expect(number_, desc, memory_limit_)); });
    }
    case Entry::Give: {
      const Value value = held_of(reader_.whole()).value;
      const std::string address(reader_.text(256));
      Ticket ticket;
      wire::read_field(reader_, ticket);
      return answer_by(request, [&] {
        exchange_.give(address, ticket, device_.backend().download(value));
        settle();
        answer(request);
      });
    }
    default: {  // Recorded
      const std::uint64_t number = reader_.whole();
      return answer_by(request, [&] { answer(request, recorded(number)); });
    }
  }
}

void Session::answer_by(std::uint64_t request, FunctionRef<void()> body) {
  const Ref<Failure> failure = attempt(body);
  if (failure) answer_failed(request, *failure);
}

std::vector<ProfileRow> Session::recorded(std::uint64_t number) const {
  constexpr std::size_t kMostRows = 10'000;
  const auto found = std::ranges::find(recordings_, number);
  require<DeviceError>(found != recordings_.end(), "the server has no such profile any more");
  std::vector<ProfileRow> rows =
      slowest_first(logs_[static_cast<std::size_t>(found - recordings_.begin())]->contents().rows);
  rows.resize(std::min(rows.size(), kMostRows));
  return rows;
}

void Session::record(std::uint64_t number) {
  constexpr std::size_t kMost = 16;
  if (logs_.size() == kMost) recordings_.erase(recordings_.begin()), logs_.erase(logs_.begin());
  recordings_.push_back(number);
  logs_.push_back(std::make_shared<ProfileLog>(ProfileOptions{.most_events = 0, .most_rows = 10'000}));
  records_.emplace(logs_);
}

const Session::Held& Session::held_of(std::uint64_t number) {
  const auto found = values_.find(number);
  const bool is_arriving = arriving_ && number == next_ - 1;
  if (found != values_.end() && !is_arriving) return found->second;
  missing_.value =
      failed_value({}, attempt([&] {
                     reader_.wrong(is_arriving ? text("value ", number, " has not arrived yet")
                                               : text("there is no value ", number, ": it was freed, or never made"));
                   }));
  return missing_;
}

Values Session::list_of_values() {
  Values values;
  for (std::size_t count = reader_.length(reader_.left(), "values"); count > 0; --count)
    values.push_back(held_by_distance().value);
  return values;
}

Value Session::failed_value(const Desc& desc, Ref<Failure> failure) const {
  Value value(make_ref<Node>(desc, device_));
  value.node()->storage = std::move(failure);
  return value;
}

void Session::hold(Value value, std::int64_t bytes, bool is_view) {
  // Values beyond the limit have failed (over_limit), and take little.
  if (limits_.tensors && values_.size() / 16 > limits_.tensors)
    reader_.wrong("16 times more than ", limits_.tensors, " tensors, which is what the server allows");
  if (known_failure({&value, 1})) bytes = 0;
  unsettled_.push_back(next_);
  counters_.bytes_held += bytes;
  values_.emplace(next_++, Held{std::move(value), bytes, is_view});
  counters_.tensors = static_cast<std::int64_t>(values_.size());
}

void Session::free_value(std::uint64_t number) {
  const auto found = values_.find(number);
  if (found == values_.end()) reader_.wrong("value ", number, " cannot be freed: it was freed, or never made");
  counters_.bytes_held -= found->second.bytes;
  values_.erase(found);
  counters_.tensors = static_cast<std::int64_t>(values_.size());
}

Ref<Failure> Session::known_failure(Inputs values) const {
  Ref<Failure> failure;
  for (const Value& value : values)
    if (device_.backend().state(value) == Backend::State::Failed) failure = joined(failure, failure_of(value.node()));
  return failure;
}

Ref<Failure> Session::over_limit(std::int64_t bytes) const {
  const std::int64_t held = counters_.bytes_held;
  const bool is_many = limits_.tensors && values_.size() >= limits_.tensors;
  const bool is_much = memory_limit_ && bytes > memory_limit_ - held;
  if (!is_many && !is_much) return nullptr;
  return attempt([&] {
    require<MemoryError>(!is_many, "the session on the server may hold ", limits_.tensors,
                         " tensors: free some, or ask for a larger limit there");
    fail<MemoryError>("the session on the server may hold ", text_of_bytes(memory_limit_), "; it holds ",
                      text_of_bytes(held), " and asks for ", text_of_bytes(bytes),
                      " more: free tensors, or ask for a larger limit there");
  });
}

void Session::set_causes(Values causes) {
  scope_.reset();
  causes_ = std::move(causes);
  if (!causes_.empty()) scope_.emplace(causes_, FailsWith::ReplaceOuter{});
}

void Session::receive_upload() {
  const Desc desc = wire::read_desc(reader_);
  const std::int64_t bytes = bytes_of(desc);
  arriving_.emplace(static_cast<std::size_t>(bytes), std::nullopt);
  Ref<Failure> failure = over_limit(bytes);
  if (!failure) failure = attempt([&] { arriving_->to.emplace(desc); });
  // The elements of a value that has failed come nevertheless, and are dropped.
  hold(failed_value(desc, failure), bytes);
  receive_piece(reader_.length(reader_.left(), "bytes"));
}

void Session::receive_piece(std::size_t count) {
  if (!arriving_) reader_.wrong("a piece of no upload");
  const std::size_t placed = std::exchange(placed_, 0);
  if (count > arriving_->left) reader_.wrong(count, " bytes for a tensor that lacks ", arriving_->left);
  const auto piece = reader_.bytes(count - std::min(placed, count));
  if (arriving_->to) placed ? arriving_->to->came(count) : arriving_->to->came(piece);
  if (arriving_->left -= count; arriving_->left > 0) return;
  std::optional<Arrival> whole = std::exchange(arriving_, {})->to;
  if (!whole) return;
  Held& held = values_.at(next_ - 1);
  const Ref<Failure> failure =
      attempt([&] { held.value = Value(device_.backend().upload(std::move(*whole).take(), device_)); });
  if (failure) held.value.node()->storage = failure;
}

void Session::take() {
  const Desc desc = wire::read_desc(reader_);
  const std::string id(reader_.text(128));
  Value value;
  Ref<Failure> failure = attempt([&] {
    TensorData data = exchange_.take(number_, id);  // also where there is no room: it must not stay there
    if (const Ref<Failure> no_room = over_limit(bytes_of(desc))) throw_failure(*no_room);
    require<DataError>(data.shape() == desc.shape && data.dtype() == desc.dtype, "another server sent ", data.dtype(),
                       ' ', data.shape(), " in place of ", desc.dtype, ' ', desc.shape);
    value = Value(device_.backend().upload(std::move(data), device_));
  });
  hold(failure ? failed_value(desc, failure) : value, bytes_of(desc));
}

}  // namespace kiln::remote
