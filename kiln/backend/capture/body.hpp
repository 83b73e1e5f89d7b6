// The content of a Graph, for code that rewrites or serialises it.
#pragma once
#include <memory>

#include "kiln/backend/capture/graph.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {

struct GraphOperand {
  static constexpr std::int32_t kNumber = -1, kNothing = -2;
  std::int32_t id = kNothing;
  Scalar number{};       // where id is kNumber
  bool tracked = false;  // a gradient may flow back through this use of the value
};
struct GraphStep {
  op::Op op;
  std::vector<GraphOperand> in;
  Descs results;
  std::int32_t first = 0;              // the number of the first result
  bool recorded = true;                // grad_enabled() at the capture
  std::vector<GraphOperand> causes{};  // the step fails if one of these fails (FailsWith)
};

/// Lives as long as a body: whoever keeps something for a body, such as its copy on a server, learns when it is gone, and does
/// not keep it alive. A copied body has a life of its own.
class Life {
 public:
  Life() = default;
  Life(const Life&) {}
  Life(Life&&) = default;
  Life& operator=(const Life&) { return *this; }
  Life& operator=(Life&&) = default;
  ~Life() = default;
  std::weak_ptr<const void> watch() const { return life_; }

 private:
  std::shared_ptr<const void> life_ = std::make_shared<const char>();
};

/// Values are numbered: first the inputs, then the constants, then the results of each node in order.
struct GraphBody : RefCounted {
  Device device;  // the device of steps without tensor operands if there are no inputs
  std::vector<Desc> inputs;
  Values constants;
  std::vector<GraphStep> steps;
  std::vector<GraphOperand> outputs;
  std::vector<Desc> output_descs;
  std::int32_t count = 0;  // of values
  Life life{};
};

/// The spoken name of the operation, or a custom op's own name.
std::string function_name(const GraphStep& step);

}  // namespace kiln
