// Counts what plans are made of: a backend below a Fusion that passes everything on.
#pragma once
#include <map>
#include <string>

#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/planned/sequence.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln::plans {

class Census final : public test::Forwarding {
 public:
  using Forwarding::Forwarding;
  void run(const op::Op& op, Call call) override {
    ++counts[text(kind(op), ' ', call.out.empty() ? DType::Bool : call.out[0].dtype())];
    ++all;
    inner_->run(op, call);
  }

  std::map<std::string, int> counts;  // "fused float32"
  int all = 0;

 private:
  static std::string kind(const op::Op& op) {
    if (const auto* fused = std::get_if<op::Fused>(&op.is))
      return fused->program->folds.empty() ? "fused" : "fused with folds";
    if (const auto* epilogue = std::get_if<op::Epilogue>(&op.is))
      return std::holds_alternative<op::Conv>(epilogue->product) ? "epilogue of conv" : "epilogue of matmul";
    return std::string(is_planned(op) ? op::name(op) : "single");
  }
};

}  // namespace kiln::plans
