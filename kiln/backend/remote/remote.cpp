#include "kiln/backend/remote/remote.hpp"

#include <algorithm>

#include "kiln/backend/capture/body.hpp"
#include "kiln/backend/capture/graph_wire.hpp"
#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/scope/fails_with.hpp"
#include "kiln/wire/custom.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {

/// A value on the server, by its number.
class Remote::Handle final : public Storage {
 public:
  Handle(Remote& remote, std::uint64_t number) : remote_(&remote), number_(number) {}
  ~Handle() override {
    if (const Failure* const known = known_.load(std::memory_order_acquire))
      release(static_cast<const RefCounted*>(known));
    remote_->free_later(number_);
  }
  static void* operator new(std::size_t size) { return cached_allocate(size); }
  static void operator delete(void* memory, std::size_t size) { cached_free(memory, size); }

  bool ready() const override { return number_ < remote_->link_->settled() || remote_->link_->is_lost(); }
  Failure* failure() override {
    if (Failure* const known = known_.load(std::memory_order_acquire)) return known;
    const Ref<Failure> found = remote_->link_->failure_of(number_);
    if (!found) return nullptr;
    Failure* none = nullptr;
    if (known_.compare_exchange_strong(none, found.get(), std::memory_order_acq_rel)) found->add_owner();
    return known_.load(std::memory_order_acquire);
  }

  const Remote& remote() const { return *remote_; }
  std::uint64_t number() const { return number_; }

 private:
  const Ref<Remote> remote_;
  const std::uint64_t number_;
  std::atomic<Failure*> known_{nullptr};
};

namespace {

/// Returns the bytes of a description by themselves: names in them refer to nothing that was written before.
std::string described(const Desc& desc) {
  wire::Writer out;
  wire::write_desc(out, desc);
  const std::vector<std::byte> bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<Values> replay_there(const Graph& graph, Inputs inputs, const ReplayOptions& options) {
  const Device device = inputs.empty() ? graph.body().device : inputs[0].device();
  auto* const remote = device ? dynamic_cast<Remote*>(&device.backend()) : nullptr;
  return remote ? remote->replay(graph, inputs, options) : std::nullopt;
}

}  // namespace

Remote::Remote(Dial dial, ClientSettings settings) : link_(Link::open(std::move(dial), std::move(settings))) {
  name_ = text("remote:", link_->peer());
  register_graph_runner(&replay_there);
}
Remote::~Remote() { link_->close(); }

bool Remote::has_kernel(const op::Op& op) const {
  if (const auto* custom = std::get_if<op::Custom>(&op.is)) {
    const wire::CustomClass* const known = wire::class_of(*custom->op);
    return known && std::ranges::any_of(link_->welcome().custom, [&](const KnownOp& there) {
             return there.name == known->name && there.fingerprint == known->fingerprint;
           });
  }
  return op::visit(op, []<class T>(const T&) { return !op::Planned<T>; });
}

std::uint64_t Remote::number_of(const Value& value) const {
  Storage* const storage = value.node()->storage.get();
  if (const auto* handle = dynamic_cast<const Handle*>(storage)) {
    require<DeviceError>(&handle->remote() == this, "a value of another session: move it with to_device()");
    return handle->number();
  }
  if (Failure* const failure = storage ? storage->failure() : nullptr) throw_failure(*failure);
  fail<DeviceError>("a value that ", name_, " did not make");
}

void Remote::free_later(std::uint64_t value) {
  link_->forget_failure(value);
  const std::lock_guard lock(freeing_);
  freed_.push_back(value);
}

std::unique_lock<std::mutex> Remote::writing() {
  std::unique_lock lock(mutex_);
  link_->check();
  write_freed();
  write_causes();
  return lock;
}

void Remote::drop_program(std::size_t index) {
  write(out_, Entry::DropProgram, programs_[index].number);
  programs_.erase(programs_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Remote::write_freed() {
  for (std::size_t i = programs_.size(); i > 0; --i)
    if (programs_[i - 1].life.expired()) drop_program(i - 1);
  {
    const std::lock_guard lock(freeing_);
    if (freed_.empty()) return;
    freed_.swap(freeing_now_);
  }
  for (const std::uint64_t value : freeing_now_) {
    link_->forget_failure(value);  // it may have come since the value was dropped
    write(out_, Entry::Free, next_ - value);
    if (out_.size() >= kFrame) send_entries();  // a program may drop millions at once, which no message could hold
  }
  freeing_now_.clear();
}

void Remote::begin_list(Entry entry, Inputs values) {
  for (const Value& value : values)
    if (value.node()) (void)number_of(value);  // before anything is written
  begin(out_, entry);
  write_list(values);
}

void Remote::write_list(Inputs values) {
  operands_.clear();
  for (const Value& value : values)
    if (value.node()) operands_.push_back(number_of(value));
  out_.whole(operands_.size());
  for (const std::uint64_t number : operands_) out_.whole(next_ - number);
}

/// Says with which values the next calls fail, where that has changed.
void Remote::write_causes() {
  const FailsWith* const scope = FailsWith::innermost();
  const std::uint64_t id = scope ? scope->id() : 0;
  const void* const requester = Requester::current().get();
  if (id == scope_ && requester == requester_) return;
  if (requester != requester_) {
    requester_ = requester;
    link_->note_requester(next_);
  }
  Values causes;
  for (const FailsWith* each = scope; each; each = each->outer())
    for (const Value& cause : each->causes())
      if (cause.node())
        if (const auto* handle = dynamic_cast<const Handle*>(cause.node()->storage.get()))
          if (&handle->remote() == this) causes.push_back(cause.detach());
  if (!causes.empty() || has_causes_) begin_list(Entry::Causes, causes);
  scope_ = id;
  has_causes_ = !causes.empty();
}

void Remote::hold(Node& node) {
  const std::uint64_t number = next_++;
  node.storage = make_ref<Handle>(*this, number);
}

void Remote::run(const op::Op& op, Call call) {
  if (needs_ranks(op)) return run_on_host(op, call);
  const char* const function = may_fail_on_data(op) ? CalledAs::function() : nullptr;
  const auto lock = writing();
  if (forms_.size() == kMostForms) {
    forms_.clear();
    begin(out_, Entry::ForgetForms);
  }
  operands_.clear();  // all of them are known before anything is written
  for (const Value& value : call.in)
    if (value.node()) operands_.push_back(number_of(value));
  const FormNumbers::Found form = forms_.find_or_add(op, call, function);
  if (form.is_new) {
    begin(out_, Entry::Form);
    write_form(out_, op, call, function);
  }
  out_.whole(kFirstForm + form.number);
  auto operand = operands_.begin();
  for (const Value& value : call.in) {
    if (value.node()) out_.whole(next_ - *operand++);
    else if (value.is_scalar()) write_number(out_, value.scalar());
  }
  for (const Value& value : call.out) hold(*value.node());
  ++calls_;
  if (out_.size() >= kFrame) send_entries();
}

void Remote::send_entries() {
  if (out_.size() > 0) link_->post(out_.take());
}

/// Ranks are programs, and meet where the programs are.
void Remote::run_on_host(const op::Op& op, Call call) {
  const Device host = Device::cpu();
  Values in;
  for (const Value& value : call.in)
    in.push_back(value.node() ? Value(host.backend().upload(download(value), host)) : value);
  const Values made = emit_all(host, op, in);
  for (std::size_t i = 0; i < made.size(); ++i)
    call.out[i].node()->storage = upload(made[i].data(), call.out[i].node()->device)->storage;
}

Ref<Node> Remote::upload(TensorData data, const Device& device) {
  auto node = make_ref<Node>(Desc{data.shape(), data.dtype()}, device);
  constexpr std::size_t kInline = 16 << 10;
  const std::size_t bytes = std::as_const(data).bytes().size();
  const auto lock = writing();
  begin(out_, Entry::Upload);
  wire::write_desc(out_, node->desc);
  hold(*node);
  if (bytes <= kInline) {
    out_.whole(bytes);
    out_.bytes(std::as_const(data).bytes());
    if (out_.size() >= kFrame) send_entries();
    return node;
  }
  out_.whole(0);
  send_entries();  // a piece that is alone in its frame is written where it belongs
  const auto shared = std::make_shared<const TensorData>(std::move(data));
  for (std::size_t offset = 0; offset < bytes; offset += kPiece) {
    const std::size_t count = std::min(kPiece, bytes - offset);
    write(out_, Entry::Piece, count);
    link_->post(out_.take(), shared, offset, count);
  }
  return node;
}

template <class... Fields>
Ref<Request> Remote::ask(Entry entry, Inputs values, const Fields&... fields) {
  const bool reads = entry == Entry::Read;
  auto request = make_ref<Request>(link_->next_request(), reads ? Values(values.begin(), values.end()) : Values());
  const auto lock = writing();
  wire::Writer own;
  write(own, entry, request->number());
  if (reads) own.whole(values.size());
  for (const Value& value : values) own.whole(number_of(value));
  (wire::write_field(own, fields), ...);
  request->ask = own.take();
  out_.bytes(request->ask);
  link_->post_request(request, out_.take());
  return request;
}

template <class... Fields>
void Remote::tell(Entry entry, const Fields&... fields) {
  const auto lock = writing();
  write(out_, entry, fields...);
  send_entries();
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

void Remote::run_pending(Inputs values) {
  if (const Ref<Failure> failure = failure_among(values)) throw_failure(*failure);
  const auto lock = writing();
  begin_list(Entry::RunPending, values);
  send_entries();
}

std::optional<std::uint64_t> Remote::written_program(const Graph& graph) {
  const GraphBody* const body = &graph.body();
  const std::weak_ptr<const void> life = body->life.watch();
  for (const SentProgram& sent : programs_)
    if (sent.life.lock() == life.lock()) return sent.number;
  // Such a graph runs call by call, where run() and has_kernel() say what happens with each.
  for (const GraphStep& step : body->steps)
    if (needs_ranks(step.op) || !has_kernel(step.op)) return std::nullopt;
  std::vector<std::byte> bytes;
  try {
    for (const Value& constant : body->constants) (void)number_of(constant);
    wire::Writer out;
    write_graph(out, graph);
    bytes = out.take();
  } catch (const Error&) { return std::nullopt; }  // an operation or a constant of this program alone
  if (bytes.size() > kMostBytes / 2) return std::nullopt;
  if (programs_.size() == kMostPrograms) drop_program(0);
  begin(out_, Entry::Program);
  out_.whole(++last_program_);
  out_.whole(bytes.size());
  out_.bytes(bytes);
  const std::vector<Desc> gives = graph.outputs();
  out_.whole(gives.size());
  for (const Desc& desc : gives) wire::write_desc(out_, desc);
  write_list(body->constants);
  programs_.push_back({life, last_program_});
  return last_program_;
}

std::optional<Values> Remote::replay(const Graph& graph, Inputs inputs, const ReplayOptions& options) {
  const Device device = inputs.empty() ? graph.body().device : inputs[0].device();
  const auto lock = writing();
  for (const Value& input : inputs) (void)number_of(input);  // before anything is written
  const std::optional<std::uint64_t> number = written_program(graph);
  if (!number) return std::nullopt;
  begin(out_, Entry::Replay);
  out_.whole(*number);
  write_list(inputs);
  wire::write_field(out_, options.key);
  Values outputs;
  for (const Desc& desc : graph.outputs()) {
    outputs.emplace_back(make_ref<Node>(desc, device));
    hold(*outputs.back().node());
  }
  ++calls_;
  if (out_.size() >= kFrame) send_entries();
  return outputs;
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
  const auto lock = writing();
  begin(out_, Entry::Take);
  wire::write_desc(out_, desc);
  out_.text(ticket);
  hold(*result.node());
  send_entries();  // that server keeps the value only for some minutes
  return result;
}

template <class Answer, class... Fields>
Answer Remote::ask_for(Entry entry, const Fields&... fields) {
  const std::vector<std::byte> bytes = ask(entry, {}, fields...)->answer();
  wire::Reader in(name_, bytes);
  Answer answer;
  wire::read_field(in, answer);
  return answer;
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
  const Ref<Failure> lost = attempt([&] { tell(Entry::StopRecording, recording); });
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
