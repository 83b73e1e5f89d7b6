// A captured program as the writer of ONNX files sees it: one operation a line, composites without a row replaced by
// what they are made of. Captured several times, with other sizes of the dimensions that are to stay free, it shows
// which of its numbers depend on them, and how.
#pragma once
#include <map>
#include <optional>

#include "kiln/backend/capture/body.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/onnx/save.hpp"

namespace kiln::onnx {

struct Program {
  using LineOperand = GraphOperand;
  struct Line {
    op::Op op;
    std::vector<LineOperand> in;
    Descs results;
    std::int32_t first = 0;  // the number of the first result

    bool has(int i) const { return i < static_cast<int>(in.size()) && in[at(i)].id != LineOperand::kNothing; }
    bool is_number(int i) const { return has(i) && in[at(i)].id == LineOperand::kNumber; }

   private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  };
  std::vector<Desc> inputs;
  std::map<std::int32_t, Value> constants;
  std::vector<Line> lines;
  std::vector<LineOperand> outputs;
  std::map<std::int32_t, Desc> descs;            // the shape and type of every value
  std::map<std::int32_t, std::size_t> lines_of;  // the line that makes a value

  const Desc& desc(const LineOperand& operand) const { return descs.at(operand.id); }
  /// The line whose result an operand is; null for inputs, constants and numbers.
  const Line* maker(const LineOperand& operand) const;
  int readers(std::int32_t value) const;
};

/// The graph's lines; those that `keeps` refuses and that are made of others are replaced by these, over and over.
Program program_of(const kiln::Graph& graph, FunctionRef<bool(const Program&, const Program::Line&)> keeps);

/// offset + factor * the product of the symbols in the set.
struct Size {
  std::int64_t offset = 0, factor = 0;
  std::uint32_t symbols = 0;
  std::int64_t base = 0;  // what it was in the first capture
  bool is_fixed() const { return symbols == 0; }
  /// Is it just one symbol? Its number; -1 otherwise.
  int symbol() const;
  friend bool operator==(const Size& a, const Size& b) {
    return a.offset == b.offset && a.factor == b.factor && a.symbols == b.symbols;
  }
  friend Size operator-(const Size& a, const Size& b);
};

/// The sizes that each free dimension has in each capture.
class Symbols {
 public:
  /// Throws ArgumentError for a dimension that no example has, or a name that stands for different sizes.
  Symbols(const std::vector<FreeDim>& dims, const Values& examples);
  const std::vector<std::string>& names() const { return names_; }
  /// The examples of each capture: the first, one for each symbol with twice its size, one with all of thrice theirs.
  /// Without symbols the examples themselves.
  std::vector<Values> captures(const Values& examples) const;
  /// The Size that has these values in the captures; nothing where there is none.
  std::optional<Size> fit(const std::vector<std::int64_t>& values) const;
  const std::vector<FreeDim>& dims() const { return dims_; }
  int number_of(const std::string& name) const;

 private:
  std::vector<FreeDim> dims_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> sizes_;  // in the first capture
};

}  // namespace kiln::onnx
