// A page loads and runs an ONNX file or a captured graph, both from bytes in memory.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/browser/function.hpp"

namespace kiln::browser {

/// An input or output as the file declares it.
struct Port {
  std::string name;
  std::string dtype;                            // "float32"; empty where the file says nothing
  std::optional<std::vector<Item>> shape = {};  // a size, the name of a free one, or null; null: any rank
};

class Model {
 public:
  virtual ~Model() = default;
  virtual std::vector<Port> inputs() const = 0;
  virtual std::vector<Port> outputs() const = 0;
  virtual const Device& device() const = 0;
  /// Inputs as a record by name, a list by position, or one item alone. Typed arrays of one dimension get the declared shape.
  /// Throws ArgumentError, DTypeError or ShapeError for inputs that do not fit.
  virtual Item::Record run(const Item& inputs) = 0;
};

/// Throws DataError or LoadError, with the name, where the bytes are damaged, cut or of another version.
std::shared_ptr<Model> load_onnx(std::span<const std::byte> bytes, const std::string& name, const Device& device,
                                 bool free_batch);
/// A safetensors file that holds a captured graph, as save() writes it (kiln/store/graph_file.hpp).
std::shared_ptr<Model> load_graph(std::span<const std::byte> bytes, const std::string& name, const Device& device);

/// The functions of Kiln.load and of models, for a module that loads files: offer(model_functions()).
std::span<const Function> model_functions();

/// The data with the port's shape, where it has one dimension and its elements fill the declared sizes with at most one free
/// size; otherwise as they are.
TensorData with_shape(TensorData data, const Port& port);
/// The inputs in the order of the ports. Throws ArgumentError, which names what is missing or unknown.
std::vector<Item> in_order(const Item& inputs, const std::vector<Port>& ports, std::string_view model);

}  // namespace kiln::browser
