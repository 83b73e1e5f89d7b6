#include "kiln/onnx/programs.hpp"

#include <algorithm>
#include <list>
#include <optional>

#include "kiln/backend/capture/graph.hpp"
#include "kiln/core/mutex.hpp"
#include "kiln/onnx/table.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/scope/float32_precision.hpp"

namespace kiln::onnx {
namespace {

constexpr std::size_t kMostPrograms = 8, kMostSeen = 16;

/// The inputs that a program was captured for, without the weights.
struct Key {
  std::vector<std::pair<Element, Shape>> inputs;
  Float32Precision::Level precision;                               // of its products: a captured program keeps its own
  std::vector<std::pair<std::size_t, std::int64_t>> numbers = {};  // inputs that the program holds for what they are
  friend bool operator==(const Key&, const Key&) = default;
};

struct CachedProgram {
  Key key;
  std::optional<kiln::Graph> graph;  // none: it cannot be captured
  std::vector<Element> outputs;
};

bool same(const Values& some, const Values& others) {
  return std::ranges::equal(some, others, [](const Value& a, const Value& b) { return a.node() == b.node(); });
}

/// Nothing where these inputs have no program.
std::optional<Key> key_of(const std::vector<Datum>& inputs, const Device& device) {
  const auto said = Float32Precision::said();
  Key key{.inputs = {},
          .precision = said == Float32Precision::OfDevice ? Float32Precision::of(device) : said,
          .numbers = {}};
  for (const Datum& input : inputs) {
    if (!input.is_tensor() || input.is_string()) return {};
    const Value& value = input.value();
    if (!value.node() || value.tracked() || !(value.device() == device)) return {};
    key.inputs.emplace_back(input.element(), value.shape());
  }
  return key;
}

// Inputs that are one integer or a yes or no: those that an If or a size is read from.
std::vector<std::pair<std::size_t, std::int64_t>> numbers_of(const std::vector<Datum>& inputs) {
  std::vector<std::pair<std::size_t, std::int64_t>> numbers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = inputs[i].value();
    if (value.numel() == 1 && !is_float(value.dtype()))
      numbers.emplace_back(i, value.data().to_vector<std::int64_t>().front());
  }
  return numbers;
}

/// Those that a program takes.
Values tensors_of(const Key& key, const std::vector<Datum>& inputs) {
  Values values;
  auto number = key.numbers.begin();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (number != key.numbers.end() && number->first == i) ++number;
    else values.push_back(inputs[i].value());
  }
  return values;
}

std::shared_ptr<const CachedProgram> captured(Key key, const std::vector<Datum>& inputs, Programs::Walk walk) {
  CachedProgram program{std::move(key), {}, {}};
  const Values examples = tensors_of(program.key, inputs);
  const auto record = [&](const Values& values) {
    std::vector<Datum> promised = inputs;
    auto number = program.key.numbers.begin();
    auto value = values.begin();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (number != program.key.numbers.end() && number->first == i) ++number;
      else promised[i] = Datum(*value++, inputs[i].element());
    }
    Values results;
    for (const Datum& output : walk(std::move(promised))) {
      require<DTypeError>(output.is_tensor() && !output.is_string(), "not a tensor of numbers");
      results.push_back(output.value());
      program.outputs.push_back(output.element());
    }
    return results;
  };
  // A graph that reads its inputs, or gives no tensors, has no program. Errors of a call are raised by the walk that
  // follows.
  try {
    program.graph = capture_graph(record, examples, {.random = false});
  } catch (const Error&) { program.outputs.clear(); }
  return std::make_shared<const CachedProgram>(std::move(program));
}

}  // namespace

struct Programs::CachedPrograms {
  Mutex mutex;
  Values weights;                                            // the weights of all programs; empty while there is none
  std::list<std::shared_ptr<const CachedProgram>> programs;  // the one used last is first
  std::list<Key> seen;                                       // kinds of inputs that have come once

  void clear() {
    weights.clear();
    programs.clear();
    seen.clear();
  }
  std::shared_ptr<const CachedProgram> find_or_capture(Key key, const std::vector<Datum>& inputs, const Values& now,
                                                       Walk walk) {
    const std::lock_guard lock(mutex);
    if (!programs.empty() && !same(weights, now)) clear();
    const auto known = std::ranges::find_if(programs, [&](const auto& each) { return each->key == key; });
    if (known != programs.end()) {
      programs.splice(programs.begin(), programs, known);
      return programs.front();
    }
    if (const auto before = std::ranges::find(seen, key); before == seen.end()) {
      seen.push_front(std::move(key));
      if (seen.size() > kMostSeen) seen.pop_back();
      return nullptr;
    } else {
      seen.erase(before);
    }
    programs.push_front(captured(std::move(key), inputs, walk));
    weights = now;
    if (programs.size() > kMostPrograms) programs.pop_back();
    return programs.front();
  }
};

bool has_fixed_program(const Graph& graph) {
  return !any_node(graph, [](const Node& node) {
    return !node.function && (!node.row || node.row->traits.random || node.op == "Dropout" || node.op == "Gradient");
  });
}

Programs::Programs() = default;
Programs::~Programs() = default;
Programs::Programs(const Graph& graph) : fixed_(has_fixed_program(graph)), kept_(std::make_unique<CachedPrograms>()) {}
Programs::Programs(const Programs& other)
    : fixed_(other.fixed_), kept_(other.kept_ ? std::make_unique<CachedPrograms>() : nullptr) {}
Programs::Programs(Programs&& other) noexcept = default;
Programs& Programs::operator=(Programs&& other) noexcept = default;
Programs& Programs::operator=(const Programs& other) { return *this = Programs(other); }

std::vector<Datum> Programs::run(std::vector<Datum> inputs, const Values& weights, const Device& device,
                                 Walk walk) const {
  if (!fixed_ || !kept_ || autocast_dtype() != DType::F32) return walk(std::move(inputs));
  if (std::ranges::any_of(weights, &Value::tracked)) {
    const std::lock_guard lock(kept_->mutex);
    kept_->clear();  // they are about to become others
    return walk(std::move(inputs));
  }
  std::optional<Key> key = key_of(inputs, device);
  if (!key) return walk(std::move(inputs));
  std::shared_ptr<const CachedProgram> program = kept_->find_or_capture(*key, inputs, weights, walk);
  if (program && !program->graph) {
    key->numbers = numbers_of(inputs);
    program = key->numbers.empty() ? nullptr : kept_->find_or_capture(*key, inputs, weights, walk);
  }
  if (!program || !program->graph) return walk(std::move(inputs));
  Values results = program->graph->replay(tensors_of(*key, inputs));
  std::vector<Datum> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) outputs.emplace_back(results[i], program->outputs[i]);
  return outputs;
}

}  // namespace kiln::onnx
