// What a session has besides calls: programs that were captured, and values that go from server to server.
#include <algorithm>

#include "kiln/backend/capture/body.hpp"
#include "kiln/backend/capture/graph_wire.hpp"
#include "kiln/backend/remote/session.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::remote {

void Session::define_program() {
  const std::uint64_t number = reader_.whole();
  const auto bytes = reader_.bytes(reader_.length(reader_.left(), "bytes of a program"));
  const Values constants = list_of_values();
  if (limits_.programs && programs_.size() >= limits_.programs)
    reader_.wrong("more than ", limits_.programs, " programs, which is what the server allows");
  wire::Reader in(reader_.source(), bytes);
  Graph program = read_graph(in, device_, [&](std::size_t i, const GraphConstant&) {
    if (i >= constants.size()) reader_.wrong("constant ", i, " of ", constants.size());
    return constants[i];
  });
  for (const GraphStep& step : program.body().steps)
    if (needs_ranks(step.op)) reader_.wrong(function_name(step), ": ranks do not work together through a server");
  if (!programs_.emplace(number, std::move(program)).second) reader_.wrong("program ", number, " is there already");
}

void Session::replay() {
  const std::uint64_t number = reader_.whole();
  const auto found = programs_.find(number);
  if (found == programs_.end()) reader_.wrong("there is no program ", number);
  const Values inputs = list_of_values();
  ReplayOptions options;
  if (reader_.flag()) {
    Key& key = options.key.emplace();
    wire::read_field(reader_, key);
  }
  const Graph& program = found->second;
  const std::vector<Desc> takes = program.inputs(), gives = program.outputs();
  if (!std::ranges::equal(inputs, takes,
                          [](const Value& value, const Desc& desc) { return value.node()->desc == desc; }))
    reader_.wrong("program ", number, " takes other inputs");
  Values outputs;
  Ref<Failure> failure = over_limit(bytes_of(gives));
  if (!failure) failure = attempt([&] { outputs = program.replay(inputs, options); });
  counters_.calls += static_cast<std::int64_t>(program.size());
  for (std::size_t i = 0; i < gives.size(); ++i) {
    Value value = failure ? Value(make_ref<Node>(gives[i], device_)) : outputs[i].detach();
    if (failure) value.node()->storage = failure;
    hold(std::move(value), bytes_of(gives[i]), true);  // it may be a view
  }
}

void Session::give(std::uint64_t request) {
  const Value value = value_of(reader_.whole());
  const std::string address(reader_.text(256)), ticket(reader_.text(128));
  const Ref<Failure> failure = attempt([&] { exchange_.give(address, ticket, device_.backend().download(value)); });
  settle();
  return failure ? answer_failed(request, *failure) : answer(request);
}

void Session::take() {
  const Desc desc = wire::read_desc(reader_);
  const std::string ticket(reader_.text(128));
  const std::int64_t bytes = bytes_of(desc);
  Value value;
  TensorData data;
  Ref<Failure> failure =
      attempt([&] { data = exchange_.take(ticket); });  // also where there is no room: it must not stay there
  if (!failure) failure = over_limit(bytes);
  if (!failure) {
    failure = attempt([&] {
      require<DataError>(data.shape() == desc.shape && data.dtype() == desc.dtype, "another server sent ", data.dtype(),
                         ' ', data.shape(), " in place of ", desc.dtype, ' ', desc.shape);
      value = Value(device_.backend().upload(std::move(data), device_));
    });
  }
  if (failure) {
    value = Value(make_ref<Node>(desc, device_));
    value.node()->storage = failure;
  }
  hold(std::move(value), failure ? 0 : bytes);
}

}  // namespace kiln::remote
