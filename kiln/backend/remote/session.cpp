#include "kiln/backend/remote/session.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <set>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/wire/call.hpp"

namespace kiln::remote {
namespace {

/// Whether the results may take memory of their own: those of most views share an operand's. An expanded tensor counts whole,
/// as whatever reads it may have to copy it.
bool takes_memory(const op::Op& op, bool of_view) {
  if (!is_view(op)) return true;
  return std::holds_alternative<op::Expand>(op.is) || (of_view && std::holds_alternative<op::Reshape>(op.is));
}

/// The name with the life of this program: calls that wait in the device name it, and may outlive the session. Null where clients
/// have named too many; errors then have the operation's own name.
const char* lasting(const std::string& name) {
  constexpr std::size_t kMost = 1 << 16;
  static std::mutex mutex;
  static auto* const all = new std::set<std::string>;  // never destroyed
  if (name.empty()) return nullptr;
  const std::lock_guard lock(mutex);
  if (const auto known = all->find(name); known != all->end()) return known->c_str();
  return all->size() < kMost ? all->insert(name).first->c_str() : nullptr;
}

}  // namespace

std::int64_t bytes_of(const Desc& desc) { return numel(desc.shape) * static_cast<std::int64_t>(size_of(desc.dtype)); }

std::int64_t bytes_of(std::span<const Desc> all) {
  std::int64_t sum = 0;
  for (const Desc& desc : all)
    if (__builtin_add_overflow(sum, bytes_of(desc), &sum)) return std::numeric_limits<std::int64_t>::max();
  return sum;
}

Session::Session(Device device, std::string peer, const SessionLimits& limits, Exchange& exchange)
    : device_(std::move(device)),
      limits_(limits),
      exchange_(exchange),
      reader_(text("the client ", peer)),
      memory_limit_(limits.memory) {}

Session::~Session() {
  values_.clear();
  const Ref<Failure> of_the_rest = attempt([&] { device_.flush(); });
  const RequestedBy asking(requester_);
  const Ref<Failure> untold =
      attempt([&] { device_.sync(); });  // takes back the errors that the client did not ask for
}

void Session::leave() {
  const RequestedBy asking(requester_);
  const Ref<Failure> of_the_rest = attempt([&] { device_.flush(); });  // a client that comes back is told by settle()
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
  if (number != applied() + 1) reader_.wrong("frame ", number, " follows frame ", applied());
  post_ = &post;
  placed_ = placed;
  const RequestedBy asking(requester_);
  if (!causes_.empty()) scope_.emplace(causes_, FailsWith::ReplaceOuter{});
  struct Leave {
    Session& session;
    ~Leave() {
      session.scope_.reset();
      session.post_ = nullptr;
    }
  } const leave{*this};
  while (reader_.left()) apply_entry(reader_.whole());
  applied_ = number;
  settle();
  counters_.frames += 1;
  counters_.microseconds +=
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
  require<DeviceError>(limits_.seconds == 0 || static_cast<double>(counters_.microseconds) < 1e6 * limits_.seconds,
                       "this session has computed for ", limits_.seconds,
                       " seconds, which is what the server allows: connect again for a new one");
  wire::Writer out = reply(Frame::Ack);
  send(out);
}

void Session::forget_told() {
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
  // A client that was cut off within an upload asks again what it had asked before.
  const bool asks = entry == Entry::Read || entry == Entry::Sync || entry == Entry::Memory || entry == Entry::Give;
  if (arriving_ && entry != Entry::Piece && !asks) reader_.wrong("an upload is not complete");
  switch (entry) {
    case Entry::Form: {
      if (forms_.size() == kMostForms) reader_.wrong("more than ", kMostForms, " forms");
      CallForm form = read_form(reader_);
      if (needs_ranks(form.op))
        reader_.wrong(op::display_name(form.op), ": ranks do not work together through a server");
      const char* const function = lasting(form.function);
      forms_.push_back({std::move(form), function});
      return;
    }
    case Entry::ForgetForms: return forms_.clear();
    case Entry::Free: return free_value(next_ - reader_.whole());
    case Entry::Upload: return receive_upload();
    case Entry::Piece: {
      const std::uint64_t count = reader_.whole();
      if (count == 0) reader_.wrong("a piece without bytes");
      return receive_piece(static_cast<std::size_t>(count));
    }
    case Entry::Causes: return set_causes(list_of_values());
    case Entry::Program: return define_program();
    case Entry::DropProgram: {
      if (const std::uint64_t number = reader_.whole(); programs_.erase(number) == 0)
        reader_.wrong("there is no program ", number);
      return;
    }
    case Entry::Replay: return replay();
    case Entry::Take: return take();
    default: return apply_ask(entry);
  }
}

void Session::apply_ask(Entry entry) {
  Backend& backend = device_.backend();
  switch (entry) {
    case Entry::RunPending: {
      const Values values = list_of_values();
      const Ref<Failure> of_values = attempt([&] { backend.run_pending(values); });  // the client is told by settle()
      return;
    }
    case Entry::Flush: return backend.flush();
    case Entry::Pack: packs_ = true; return;
    case Entry::Read: {
      const std::uint64_t request = reader_.whole();
      Values values;  // by their own numbers: a request may come again, after later work
      for (std::size_t count = reader_.length(reader_.left(), "values"); count > 0; --count)
        values.push_back(value_of(reader_.whole()));
      return read_values(request, values);
    }
    case Entry::Sync: return synchronize(reader_.whole());
    case Entry::Memory: {
      MemoryStatistics memory = backend.memory();
      if (memory_limit_) memory.limit = memory_limit_;
      return answer(reader_.whole(), [&](wire::Writer& out) { wire::write_field(out, memory); });
    }
    case Entry::SetLimit: {
      const std::int64_t wanted = reader_.integer();
      if (wanted < 1) reader_.wrong("a limit of ", wanted, " bytes");
      memory_limit_ = limits_.memory ? std::min(limits_.memory, wanted) : wanted;
      return;
    }
    case Entry::ResetPeak: return backend.reset_memory_peak();
    case Entry::ReleaseMemory: return backend.release_memory();
    case Entry::Give: return give(reader_.whole());
    default: reader_.wrong("there is no entry ", static_cast<int>(entry));
  }
}

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

const Session::Held& Session::held_of(std::uint64_t number) const {
  if (arriving_ && number == next_ - 1) reader_.wrong("value ", number, " has not arrived yet");
  const auto found = values_.find(number);
  if (found == values_.end()) reader_.wrong("there is no value ", number, ": it was freed, or never made");
  return found->second;
}

Values Session::list_of_values() {
  Values values;
  for (std::size_t count = reader_.length(reader_.left(), "values"); count > 0; --count)
    values.push_back(held_by_distance().value);
  return values;
}

void Session::hold(Value value, std::int64_t bytes, bool is_view) {
  if (limits_.tensors && values_.size() >= limits_.tensors)
    reader_.wrong("more than ", limits_.tensors, " tensors, which is what the server allows");
  if (failure_of(value.node())) bytes = 0;
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

Ref<Failure> Session::over_limit(std::int64_t bytes) const {
  const std::int64_t held = counters_.bytes_held;
  if (memory_limit_ == 0 || bytes <= memory_limit_ - held) return nullptr;
  return attempt([&] {
    fail<MemoryError>("the session on the server may hold ", text_of_bytes(memory_limit_), "; it holds ",
                      text_of_bytes(held), " and asks for ", text_of_bytes(bytes),
                      " more: free tensors, or ask for a larger limit there");
  });
}

Ref<Failure> Session::too_much_to_read(const Values& values) const {
  constexpr std::int64_t kMost = std::int64_t{4} << 30;  // where the session has no limit and holds less
  const std::int64_t most = std::max<std::int64_t>(memory_limit_ ? memory_limit_ : kMost, counters_.bytes_held);
  std::vector<Desc> descs;
  for (const Value& value : values) descs.push_back(value.node()->desc);
  const std::int64_t bytes = bytes_of(descs);
  if (bytes <= most) return nullptr;
  return attempt([&] {
    fail<MemoryError>("a read of ", text_of_bytes(bytes), " at once, the session on the server may read ",
                      text_of_bytes(most), ": read it in parts");
  });
}

void Session::set_causes(Values causes) {
  scope_.reset();
  causes_ = std::move(causes);
  if (!causes_.empty()) scope_.emplace(causes_, FailsWith::ReplaceOuter{});
}

void Session::call(const KnownForm& known) {
  const CallForm& form = known.form;
  operands_.clear();
  results_.clear();
  bool of_view = false;
  for (const FormOperand& operand : form.in) {
    if (operand.is == FormOperand::Is::Nothing) {
      operands_.emplace_back();
    } else if (operand.is == FormOperand::Is::Number) {
      operands_.emplace_back(read_number(reader_, operand.kind));
    } else {
      const Held& held = held_by_distance();
      const Value& value = held.value;
      of_view = of_view || held.is_view;
      if (!(value.node()->desc == operand.desc))
        reader_.wrong(op::display_name(form.op), ": an operand is ", value, ", the form says ", operand.desc.dtype, ' ',
                      operand.desc.shape);
      operands_.push_back(value);
    }
  }
  // A form was not checked when it came: infer may look at numbers, which each call has anew.
  if (wire::results_of(form.op, operands_) != form.out)
    reader_.wrong(op::display_name(form.op), " does not give the results that the client says");
  for (const Desc& desc : form.out) results_.emplace_back(make_ref<Node>(desc, device_));
  counters_.calls += 1;
  const CalledAs named(known.function);
  const bool takes = takes_memory(form.op, of_view);
  run(form.op, {operands_, results_}, takes ? bytes_of(form.out) : 0);
  // A reshape of what is no view is none either.
  const bool gives_view = is_view(form.op) && (of_view || !std::holds_alternative<op::Reshape>(form.op.is));
  for (Value& value : results_) {
    const std::int64_t bytes = takes ? bytes_of(value.node()->desc) : 0;
    hold(std::move(value), bytes, gives_view);
  }
  operands_.clear();
  results_.clear();
}

void Session::run(const op::Op& op, Call call, std::int64_t bytes) {
  Ref<Failure> failure = over_limit(bytes);
  if (!failure) {
    failure = attempt([&] {
      if (device_.backend().has_kernel(op)) return device_.backend().run(op, call);
      const Values made = expansion(op, call.in, call.out);
      for (std::size_t i = 0; i < made.size(); ++i) call.out[i] = made[i].detach();
    });
    // A backend that runs a call at once throws the failure of an operand: that one is known to the client.
    if (failure)
      if (const Ref<Failure> known = failure_among(call.in)) failure = known;
  }
  if (!failure) return;
  for (Value& value : call.out) {
    const Desc desc = value.node()->desc;
    value = Value(make_ref<Node>(desc, device_));
    value.node()->storage = failure;
  }
}

void Session::receive_upload() {
  const Desc desc = wire::read_desc(reader_);
  const std::int64_t bytes = bytes_of(desc);
  arriving_.emplace(static_cast<std::size_t>(bytes), std::nullopt);
  Value value(make_ref<Node>(desc, device_));
  Ref<Failure> failure = over_limit(bytes);
  if (!failure) failure = attempt([&] { arriving_->to.emplace(desc); });
  value.node()->storage = failure;  // the elements still come; they are dropped
  hold(std::move(value), failure ? 0 : bytes);
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

void Session::read_values(std::uint64_t request, const Values& values) {
  std::vector<TensorData> all;
  Ref<Failure> failure = too_much_to_read(values);
  if (!failure) failure = attempt([&] { all = device_.backend().start_read(values)->wait(); });
  if (failure)
    if (const Ref<Failure> known = failure_among(values)) failure = known;
  settle();
  if (failure) return answer_failed(request, *failure);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto data = std::make_shared<const TensorData>(std::move(all[i]));
    const std::size_t bytes = data->bytes().size();
    for (std::size_t offset = 0; offset < bytes; offset += kPiece) {
      wire::Writer head = reply(Frame::Piece);
      head.whole(request);
      head.whole(i);
      const std::size_t count = std::min(kPiece, bytes - offset);
      head.whole(count);
      Outgoing piece{.head = head.take()};
      if (count < 4096) {
        const auto part = data->bytes().subspan(offset, count);
        piece.head.insert(piece.head.end(), part.begin(), part.end());
      } else {
        piece.data = data;
        piece.offset = offset;
        piece.count = count;
      }
      counters_.bytes_out += static_cast<std::int64_t>(piece.size());
      (*post_)(std::move(piece));
    }
  }
  answer(request);
}

wire::Writer Session::reply(Frame frame) const {
  wire::Writer out;
  begin(out, frame);
  out.whole(applied());
  out.whole(settled());
  return out;
}

void Session::send(wire::Writer& out) {
  Outgoing message{.head = out.take()};
  counters_.bytes_out += static_cast<std::int64_t>(message.size());
  (*post_)(std::move(message));
}

void Session::answer(std::uint64_t request, const std::function<void(wire::Writer&)>& body) {
  wire::Writer out = reply(Frame::Answer);
  out.whole(request);
  if (body) body(out);
  send(out);
}

void Session::answer_failed(std::uint64_t request, const Failure& failure) {
  wire::Writer out = reply(Frame::Failed);
  out.whole(request);
  write_roots(out, failure);
  send(out);
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
  wire::Writer list;
  std::uint64_t count = 0;
  const Backend& backend = device_.backend();
  std::vector<std::pair<std::uint64_t, Ref<Failure>>> failed;
  while (!unsettled_.empty()) {
    const auto found = values_.find(unsettled_.front());
    if (found != values_.end()) {
      if (arriving_ && found->first == next_ - 1) break;
      const Backend::State state = backend.state(found->second.value);
      if (state == Backend::State::Waiting) break;
      if (state == Backend::State::Failed) failed.emplace_back(found->first, failure_of(found->second.value.node()));
    }
    unsettled_.pop_front();
  }
  for (const auto& [number, failure] : failed) {
    if (!failure) continue;
    list.whole(number);
    write_roots(list, *failure);
    ++count;
  }
  if (count == 0) return;
  wire::Writer out = reply(Frame::Failures);
  out.whole(count);
  out.bytes(list.take());
  send(out);
}

}  // namespace kiln::remote
