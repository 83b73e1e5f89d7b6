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
  Handle(Remote& remote, std::uint64_t number) : remote_(&remote), number_{number} {}
  ~Handle() override {
    if (const Failure* const known = known_.load(std::memory_order_acquire))
      release(static_cast<const RefCounted*>(known));
    remote_->free_later(number_);
  }
  static void* operator new(std::size_t size) { return cached_allocate(size); }
  static void operator delete(void* memory, std::size_t size) { cached_free(memory, size); }

  bool ready() const override { return number() < remote_->link_->settled() || remote_->link_->is_lost(); }
  Failure* failure() override {
    if (Failure* const known = known_.load(std::memory_order_acquire)) return known;
    const Ref<Failure> found = remote_->link_->failure_of(number());
    if (!found) return nullptr;
    Failure* none = nullptr;
    if (known_.compare_exchange_strong(none, found.get(), std::memory_order_acq_rel)) found->add_owner();
    return known_.load(std::memory_order_acquire);
  }

  const Remote& remote() const { return *remote_; }
  std::uint64_t number() const { return number_.front(); }

 private:
  const Ref<Remote> remote_;
  Numbers number_;  // one, which goes to the remote's when the value is dropped
  std::atomic<Failure*> known_{nullptr};
};

namespace {

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

void Remote::free_later(Numbers& value) noexcept {
  link_->forget_failure(value.front());
  const std::lock_guard lock(freeing_);
  freed_.splice_after(freed_.before_begin(), value);
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
    freeing_now_.swap(freed_);
  }
  for (; !freeing_now_.empty(); freeing_now_.pop_front()) {
    link_->forget_failure(freeing_now_.front());  // it may have come since the value was dropped
    write(out_, Entry::Free, next_ - freeing_now_.front());
    if (out_.size() >= kFrame) send_entries();  // a program may drop millions at once, which no message could hold
  }
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
  writing([&] { write_call(op, call, function); });
}

void Remote::write_call(const op::Op& op, const Call& call, const char* function) {
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
  writing([&] {
    begin(out_, Entry::Upload);
    wire::write_desc(out_, node->desc);
    hold(*node);
    if (bytes <= kInline) {
      out_.whole(bytes);
      out_.bytes(std::as_const(data).bytes());
      if (out_.size() >= kFrame) send_entries();
      return;
    }
    out_.whole(0);
    send_entries();  // a piece that is alone in its frame is written where it belongs
    const auto shared = std::make_shared<const TensorData>(std::move(data));
    for (std::size_t offset = 0; offset < bytes; offset += kPiece) {
      const std::size_t count = std::min(kPiece, bytes - offset);
      write(out_, Entry::Piece, count);
      link_->post(out_.take(), shared, offset, count);
    }
  });
  return node;
}

void Remote::run_pending(Inputs values) {
  if (const Ref<Failure> failure = failure_among(values)) throw_failure(*failure);
  writing([&] {
    begin_list(Entry::RunPending, values);
    send_entries();
  });
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
  return writing([&]() -> std::optional<Values> {
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
  });
}

}  // namespace kiln::remote
