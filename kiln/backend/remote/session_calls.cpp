// A session computes calls, and programs that were captured.
#include <algorithm>
#include <mutex>
#include <set>

#include "kiln/backend/capture/body.hpp"
#include "kiln/backend/capture/graph_wire.hpp"
#include "kiln/backend/remote/session.hpp"
#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/wire/call.hpp"

namespace kiln::remote {
namespace {

/// Returns whether the results may take memory of their own: those of most views share an operand's. An expanded tensor
/// counts whole, as whatever reads it may have to copy it.
bool takes_memory(const op::Op& op, bool of_view) {
  if (!is_view(op)) return true;
  return std::holds_alternative<op::Expand>(op.is) || (of_view && std::holds_alternative<op::Reshape>(op.is));
}

/// Returns the name with the life of this program: calls that wait in the device name it, and may outlive the session. It is
/// null where clients have named too many; errors then have the operation's own name.
const char* lasting(const std::string& name) {
  constexpr std::size_t kMost = 1 << 16;
  static std::mutex mutex;
  static auto* const all = new std::set<std::string>;  // never destroyed
  if (name.empty()) return nullptr;
  const std::lock_guard lock(mutex);
  if (const auto known = all->find(name); known != all->end()) return known->c_str();
  return all->size() < kMost ? all->insert(name).first->c_str() : nullptr;
}

[[noreturn]] void fail_without_ranks(std::string_view what) {
  fail<DeviceError>(what, ": ranks do not work together through a server");
}

}  // namespace

void Session::receive_form() {
  if (forms_.size() == kMostForms) reader_.wrong("more than ", kMostForms, " forms");
  CallForm form = read_form(reader_);
  const char* const function = lasting(form.function);
  forms_.push_back({std::move(form), function});
}

Ref<Failure> Session::read_operands(const CallForm& form, bool& of_view) {
  Ref<Failure> wrong;
  for (const FormOperand& operand : form.in) {
    if (operand.is == FormOperand::Is::Nothing) {
      operands_.emplace_back();
    } else if (operand.is == FormOperand::Is::Number) {
      operands_.emplace_back(read_number(reader_, operand.kind));
    } else {
      const Held& held = held_by_distance();
      operands_.push_back(held.value);
      of_view = of_view || held.is_view;
      if (&held == &missing_) wrong = failure_of(held.value.node());
      if (wrong || held.value.node()->desc == operand.desc) continue;
      wrong = attempt([&] {
        reader_.wrong(op::display_name(form.op), ": an operand is ", held.value, ", the form says ", operand.desc.dtype,
                      ' ', operand.desc.shape);
      });
    }
  }
  return wrong;
}

void Session::call(const KnownForm& known) {
  const CallForm& form = known.form;
  operands_.clear();
  results_.clear();
  bool of_view = false;
  Ref<Failure> wrong = read_operands(form, of_view);
  // A form was not checked when it came: infer may look at numbers, which each call has anew.
  if (!wrong)
    wrong = attempt([&] {
      if (needs_ranks(form.op)) fail_without_ranks(op::display_name(form.op));
      if (wire::results_of(form.op, operands_) != form.out)
        reader_.wrong(op::display_name(form.op), " does not give the results that the client says");
    });
  counters_.calls += 1;
  const bool takes = takes_memory(form.op, of_view);
  if (wrong) {
    for (const Desc& desc : form.out) results_.push_back(failed_value(desc, wrong));
  } else {
    const CalledAs named(known.function);
    for (const Desc& desc : form.out) results_.emplace_back(make_ref<Node>(desc, device_));
    run(form.op, {operands_, results_}, takes ? bytes_of(form.out) : 0);
  }
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
      if (const Ref<Failure> known = known_failure(call.in)) failure = known;
  }
  if (failure)
    for (Value& value : call.out) value = failed_value(Desc(value.node()->desc), failure);
}

void Session::define_program() {
  const std::uint64_t number = reader_.whole();
  const auto bytes = reader_.bytes(reader_.length(reader_.left(), "bytes of a program"));
  KnownProgram program;
  for (std::size_t count = reader_.length(reader_.left(), "outputs"); count > 0; --count)
    program.gives.push_back(wire::read_desc(reader_));
  const Values constants = list_of_values();
  if (programs_.size() >= kMostForms) reader_.wrong("more than ", kMostForms, " programs");
  program.refused = attempt([&] {
    require<MemoryError>(limits_.programs == 0 || programs_.size() < limits_.programs,
                         "the session on the server may hold ", limits_.programs,
                         " programs: drop some, or ask for a larger limit there");
    wire::Reader in(reader_.source(), bytes);
    Graph graph = read_graph(in, device_, [&](std::size_t i, const GraphConstant&) {
      if (i >= constants.size()) in.wrong("constant ", i, " of ", constants.size());
      throw_if_failed(constants[i]);
      return constants[i];
    });
    for (const GraphStep& step : graph.body().steps)
      if (needs_ranks(step.op)) fail_without_ranks(function_name(step));
    if (graph.outputs() != program.gives) in.wrong("the program does not give the results that the client says");
    program.graph.emplace(std::move(graph));
  });
  if (!programs_.emplace(number, std::move(program)).second) reader_.wrong("program ", number, " is there already");
}

void Session::replay() {
  const std::uint64_t number = reader_.whole();
  const auto found = programs_.find(number);
  if (found == programs_.end()) reader_.wrong("there is no program ", number);
  const KnownProgram& program = found->second;
  const Values inputs = list_of_values();
  ReplayOptions options;
  wire::read_field(reader_, options.key);
  Values outputs;
  Ref<Failure> failure = program.refused ? program.refused : over_limit(bytes_of(program.gives));
  if (!failure) {
    failure = attempt([&] { outputs = program.graph->replay(inputs, options); });
    if (failure)
      if (const Ref<Failure> known = known_failure(inputs)) failure = known;
  }
  if (program.graph) counters_.calls += static_cast<std::int64_t>(program.graph->size());
  for (std::size_t i = 0; i < program.gives.size(); ++i) {
    const Desc& desc = program.gives[i];
    hold(failure ? failed_value(desc, failure) : outputs[i].detach(), bytes_of(desc), true);  // it may be a view
  }
}

}  // namespace kiln::remote
