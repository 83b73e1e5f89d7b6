#include "kiln/store/graph_record.hpp"

#include "kiln/backend/capture/graph_wire.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

constexpr const char* kProgram = "program";
std::string name_of_constant(std::size_t i) { return text("constant.", i); }

/// Returns the same tensor with its dimensions in that order in memory.
Value in_order(const Value& x, const Dims& order) {
  if (order.empty()) return x;
  Dims inverse = order;
  for (int i = 0; i < order.size(); ++i) inverse[static_cast<int>(order[i])] = i;
  return permute(from_data(permute(x, order).data(), x.device()), inverse);
}

}  // namespace

TensorFile record_of(const Graph& graph, const Metadata& metadata) {
  wire::Writer out;
  write_graph(out, graph);
  std::vector<std::byte> program = out.take();
  TensorFile file{.tensors = {}, .metadata = metadata};
  const Shape bytes{static_cast<std::int64_t>(program.size())};
  file.tensors.emplace(kProgram, TensorData(bytes, DType::U8, std::move(program)));
  for (std::size_t i = 0; i < graph.constants().size(); ++i)
    file.tensors.emplace(name_of_constant(i), graph.constants()[i].data());
  return file;
}

Graph graph_from_record(const TensorFileView& record, std::string_view file, const Device& device) {
  require<DeviceError>(static_cast<bool>(device), file, ": no device was given");
  const auto program = record.tensors.find(kProgram);
  require<LoadError>(program != record.tensors.end() && program->second.dtype == DType::U8, file,
                     ": it holds tensors, but no captured program: save(capture(...), file) writes one; load() reads "
                     "weights into a model");
  wire::Reader in(file, program->second.bytes);
  std::size_t taken = 0;
  const Graph graph = read_graph(in, device, [&](std::size_t i, const GraphConstant& constant) {
    const Desc& desc = constant.desc;
    const auto found = record.tensors.find(name_of_constant(i));
    require<DataError>(found != record.tensors.end(), file, ": '", name_of_constant(i), "' is missing");
    const TensorView& tensor = found->second;
    require<DataError>(tensor.shape == desc.shape && tensor.dtype == desc.dtype, file, ": '", name_of_constant(i),
                       "' is ", tensor.dtype, ' ', tensor.shape, ", the program expects ", desc.dtype, ' ', desc.shape);
    ++taken;
    return in_order(
        from_data(TensorData(tensor.shape, tensor.dtype, {tensor.bytes.begin(), tensor.bytes.end()}), device),
        constant.order);
  });
  require<DataError>(taken + 1 == record.tensors.size(), file, ": ", record.tensors.size() - taken - 1,
                     " of its tensors belong to no part of the program");
  return graph;
}

}  // namespace kiln
