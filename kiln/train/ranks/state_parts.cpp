#include "kiln/train/ranks/state_parts.hpp"

#include <utility>

#include "kiln/ops/collective/host.hpp"
#include "kiln/ops/read.hpp"
#include "kiln/wire/fields.hpp"

namespace kiln::training {
namespace {

std::vector<const Value*> tensors_of(const ParamState& state) {
  std::vector<const Value*> all;
  for (const Value& slot : state.slots) all.push_back(&slot);
  all.push_back(&state.master);
  return all;
}

StateDescription described(const ParamState& state) {
  StateDescription own{state.steps, state.numbers};
  for (const Value* const tensor : tensors_of(state))
    own.tensors.push_back(tensor->empty() ? std::nullopt : std::optional(Desc{tensor->shape(), tensor->dtype()}));
  return own;
}

std::size_t bytes_of(const Desc& desc) { return static_cast<std::size_t>(numel(desc.shape)) * size_of(desc.dtype); }
std::size_t bytes_of(const StateDescription& state) {
  std::size_t bytes = 0;
  for (const auto& tensor : state.tensors) bytes += tensor ? bytes_of(*tensor) : 0;
  return bytes;
}

/// The elements of a state's tensors, one tensor after the other.
std::vector<std::byte> elements_of(const ParamState& state) {
  Values there;
  for (const Value* const tensor : tensors_of(state))
    if (!tensor->empty()) there.push_back(*tensor);
  std::vector<std::byte> all;
  for (const TensorData& data : read(there)) all.insert(all.end(), data.bytes().begin(), data.bytes().end());
  return all;
}

/// A part of a state as it arrived.
struct Arrived {
  const StateDescription* described;
  std::vector<std::byte> bytes;
};

/// Tensor `index` of a state whose parts follow each other. A single part is all of the parameter, and its tensors may
/// have shapes of their own.
Value joined_tensor(const std::vector<Arrived>& parts, std::vector<std::size_t>& read, std::size_t index,
                    const Shape& shape) {
  const std::optional<Desc>& first = parts[0].described->tensors[index];
  if (!first) return {};
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto begin = parts[i].bytes.begin() + static_cast<std::ptrdiff_t>(read[i]);
    const std::size_t count = bytes_of(*parts[i].described->tensors[index]);
    bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    read[i] += count;
  }
  return from_data(TensorData(parts.size() == 1 ? first->shape : shape, first->dtype, std::move(bytes)), Device::cpu());
}

}  // namespace

std::vector<StateDescriptions> described_states(Communicator& among, const std::map<std::string, ParamState>& own) {
  wire::Writer writer;
  writer.whole(own.size());
  for (const auto& [path, state] : own) {
    wire::write_field(writer, path);
    wire::write_field(writer, described(state));
  }
  const std::vector<std::byte> bytes = writer.take();
  const std::string sent(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<StateDescriptions> all;
  for (const std::string& text : collective::gather_texts(among, "training: states", sent)) {
    wire::Reader reader("the states of a rank", std::as_bytes(std::span(text)));
    StateDescriptions& states = all.emplace_back();
    for (std::uint64_t count = reader.whole(); count > 0; --count) {
      std::string path;
      wire::read_field(reader, path);
      wire::read_field(reader, states[path]);
    }
  }
  return all;
}

std::optional<ParamState> joined_state(Communicator& among, const std::string& path, const Shape& shape,
                                       const ParamState* own, const std::vector<StateDescriptions>& descriptions) {
  const auto ranks = static_cast<std::size_t>(among.size());
  const std::vector<std::byte> sent = own ? elements_of(*own) : std::vector<std::byte>{};
  Communicator::Pieces pieces(ranks);
  pieces[0] = sent;
  Communicator::Places places(ranks);
  std::vector<Arrived> parts;
  parts.reserve(ranks);
  for (std::size_t rank = 0; among.rank() == 0 && rank < ranks; ++rank) {
    const auto there = descriptions[rank].find(path);
    if (there == descriptions[rank].end()) continue;
    parts.push_back({&there->second, std::vector<std::byte>(bytes_of(there->second))});
    places[rank] = parts.back().bytes;
  }
  among.exchange(text("training: the state of ", path), pieces, places);
  if (parts.empty()) return std::nullopt;
  ParamState whole{
      .steps = parts[0].described->steps, .slots = {}, .numbers = parts[0].described->numbers, .master = {}};
  std::vector<std::size_t> read(parts.size());
  const std::size_t tensors = parts[0].described->tensors.size();
  for (std::size_t i = 0; i + 1 < tensors; ++i) whole.slots.push_back(joined_tensor(parts, read, i, shape));
  whole.master = joined_tensor(parts, read, tensors - 1, shape);
  return whole;
}

}  // namespace kiln::training
