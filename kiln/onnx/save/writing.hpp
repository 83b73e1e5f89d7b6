// The writer that rows of kiln/onnx/save use: names of values, constants, sizes, nodes.
#pragma once
#include <deque>
#include <set>

#include "kiln/onnx/call.hpp"
#include "kiln/onnx/save/program.hpp"

namespace kiln::onnx {

/// An attribute by its name.
AttributeProto attribute(std::string_view name, PlainAttribute value);
AttributeProto attribute(std::string_view name, TensorProto value);
using NamedAttributes = std::vector<AttributeProto>;

/// The file while it is written.
class Writing {
 public:
  /// All captures of one program, flattened; the first is the one that is written.
  Writing(std::vector<Program> captures, const Symbols& symbols, const SaveOptions& options);

  const Program& program() const { return captures_.front(); }
  int opset() const { return options_.opset; }
  const SaveOptions& options() const { return options_; }

  // ---- values -----------------------------------------------------------------------------------------------------
  /// The name under which a value stands in the file; of a constant that of its initializer.
  const std::string& name_of(std::int32_t value);
  void set_name(std::int32_t value, std::string name) { names_[value] = std::move(name); }
  /// One number as a tensor without dimensions.
  std::string number(const Scalar& number, DType dtype);
  std::string constant(TensorData data, std::string_view name);
  std::string ints(const Ints& list);
  /// Adds a node and gives the names of its results, which are fresh.
  Strings node(std::string_view op, Strings inputs, NamedAttributes attributes = {}, int results = 1);
  /// The name of its only result.
  std::string one(std::string_view op, Strings inputs, NamedAttributes attributes = {}) {
    return node(op, std::move(inputs), std::move(attributes)).front();
  }

  // ---- sizes ------------------------------------------------------------------------------------------------------
  /// The number that `read` finds in line `line` of each capture, as a function of free dimensions. Notes a complaint
  /// where no Size says how it depends on them.
  Size size(std::size_t line, FunctionRef<std::int64_t(const Program&, const Program::Line&)> read);
  /// The size of dimension `dim` of a value.
  Size dim_of(std::int32_t value, int dim);
  /// A list of sizes as an int64 tensor [n].
  std::string sizes(const std::vector<Size>& list);
  /// One size as an int64 tensor without dimensions.
  std::string scalar(const Size& size);

  /// Notes that the line cannot be written; finish() reports all such lines.
  void complain(std::size_t line, std::string reason);
  void complain(std::string_view op, std::string reason) { complaints_[std::string(op)].insert(std::move(reason)); }

  /// The model, without nodes whose results are not read. Throws ArgumentError with all complaints.
  ModelProto finish();
  /// The scope of a node that reads `inputs`: "/encoder/0/attention".
  std::string scope_of(const Strings& inputs) const;

 private:
  std::string fresh(const std::string& wanted);
  std::string add_initializer(TensorData data, std::string name);
  std::string add_constant(std::int32_t id);
  std::string add_made_constant(std::int32_t id, const std::vector<Size>& shape);
  std::string add_parameter(const std::string& path, const Value& value, const Dims& order, const Dims& inverse);
  void check_same_elements(std::int32_t id);  // in all captures, whatever the sizes
  std::string symbol(int number);
  void check_same_structure() const;
  void name_outputs();
  void remove_unread();
  ValueInfoProto info_of(const Program::LineOperand& operand, std::string name);

  std::vector<Program> captures_;
  const Symbols& symbols_;
  const SaveOptions& options_;
  GraphProto graph_;
  std::map<std::int32_t, std::string> names_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> scopes_;         // scopes of parameters, by the names of their initializers
  std::map<const Storage*, std::string> parameters_;  // paths, by their memory
  std::map<std::string, std::string> shared_;         // constants by their contents or place
  std::map<int, std::string> symbol_names_;
  std::map<std::string, std::set<std::string>> complaints_;
  std::deque<TensorData> data_;  // what raw_data points to
};

/// One line while it is written.
struct WriterStep {
  Writing& out;
  const Program::Line& line;
  std::size_t number;

  const Program& program() const { return out.program(); }
  int inputs() const { return static_cast<int>(line.in.size()); }
  bool has(int i) const { return line.has(i); }
  const Program::LineOperand& operand(int i) const { return line.in[static_cast<std::size_t>(i)]; }
  bool is_number(int i) const { return line.is_number(i); }
  double value(int i) const { return operand(i).number.to<double>(); }
  const Desc& desc(int i) const { return program().desc(operand(i)); }
  const Desc& result_desc(int i = 0) const { return line.results[i]; }
  int rank(int i) const { return desc(i).shape.size(); }
  /// The operand's name; a plain number is a tensor of `dtype`.
  std::string in(int i, DType dtype) const;
  std::string in(int i) const { return in(i, result_desc().dtype); }
  /// Empty where it is absent, as optional inputs are written.
  std::string get(int i) const { return has(i) ? in(i) : std::string(); }
  bool wants(int result) const { return program().readers(line.first + result) > 0; }
  void result(std::string name, int i = 0) const { out.set_name(line.first + i, std::move(name)); }
  std::string one(std::string_view op, Strings inputs, NamedAttributes attributes = {}) const {
    return out.one(op, std::move(inputs), std::move(attributes));
  }
  /// The sizes of an operand and of a result, and of what `read` finds in the line's op.
  std::vector<Size> sizes_of(int i) const;
  std::vector<Size> result_sizes(int i = 0) const;
  template <class T, class F>
  Size size(F read) const {
    return out.size(number, [&](const Program&, const Program::Line& l) { return read(*std::get_if<T>(&l.op.is)); });
  }
  void complain(std::string reason) const { out.complain(number, std::move(reason)); }
};

/// How an operation is written. `refuses` says why it is not, before anything is; empty: it is. A composite that is
/// refused is written as what it is made of.
struct SaveRow {
  std::string_view op;
  void (*write)(const op::Op& op, const WriterStep& step);
  std::string (*refuses)(const op::Op& op, const Program& program, const Program::Line& line, int opset) = nullptr;
};
template <class T, void (*write)(const T&, const WriterStep&),
          std::string (*refuses)(const T&, const Program&, const Program::Line&, int) = nullptr>
constexpr SaveRow save_row() {
  SaveRow row{T::kName, [](const op::Op& op, const WriterStep& step) { write(*std::get_if<T>(&op.is), step); }};
  if constexpr (refuses != nullptr)
    row.refuses = [](const op::Op& op, const Program& p, const Program::Line& line, int opset) {
      return refuses(*std::get_if<T>(&op.is), p, line, opset);
    };
  return row;
}
/// Null where no row has the operation.
const SaveRow* find_save_row(const op::Op& op);

/// An initializer's dimensions in other order: a Transpose.
std::string transposed(Writing& out, std::string x, const Dims& order);
/// x under other sizes, by a Reshape that says as few of them as it can.
std::string reshaped(Writing& out, const std::string& x, const std::vector<Size>& from, const std::vector<Size>& to);
std::string cast_name(Writing& out, const std::string& x, DType from, DType to);

}  // namespace kiln::onnx
