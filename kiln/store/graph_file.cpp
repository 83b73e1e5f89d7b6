#include "kiln/store/graph_file.hpp"

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/store/save.hpp"

namespace kiln {

void save(const Graph& graph, const std::string& path, const Metadata& metadata) try {
  require<ArgumentError>(format_for_saving(path).name == "safetensors", "save: ", shown(path),
                         ": a program is saved as .safetensors alone");
  save_tensors(record_of(graph, metadata), path);
} catch (...) { rethrow_as_memory_error(path); }

Graph load_graph(const std::string& path, const Device& device) try {
  return graph_from_record(detail::OpenRecord(path).view, path, device);
} catch (...) { rethrow_as_memory_error(path); }

void detail::check_signature(std::string_view file, std::string_view what, const std::vector<Desc>& descs,
                             std::initializer_list<TensorType> types) {
  require<LoadError>(descs.size() == types.size(), file, ": the program ", what, ' ', descs.size(), " tensors, not ",
                     types.size());
  for (std::size_t i = 0; const TensorType& type : types) {
    const Desc& desc = descs[i];
    require<LoadError>(desc.shape.size() == type.rank && kind_of(desc.dtype) == type.kind, file, ": the program ", what,
                       ' ', desc.dtype, ' ', desc.shape, " as ", what == "takes" ? "input " : "result ", i,
                       ", not a Tensor<", type.rank,
                       type.kind == Kind::Float ? ">"
                       : type.kind == Kind::Int ? ", Int>"
                                                : ", Bool>");
    ++i;
  }
}

}  // namespace kiln
