#include "kiln/ops/expression/draw.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/ops/expression/parse.hpp"

namespace kiln::expr {

const Tree* draw(op::Distribution distribution) {
  static const Variable kScope[] = {
      {"a"}, {"b"}, {"w", Type::Word}, {"v", Type::Word}, {"p", Type::Word}, {"q", Type::Word}, {"odd", Type::Bool}};
  static const Tree kUniform = parse("between(a, b, uniform(w, v))", kScope),
                    kNormal = parse(
                        "a + b * (sqrt(-2 * log(1 - uniform(w, v))) *"
                        "select(odd, sin(6.283185307179586 * uniform(p, q)),"
                        "cos(6.283185307179586 * uniform(p, q))))",
                        kScope),
                    kBernoulli = parse("select(to_number(w >> 8) * 5.9604644775390625e-8 < a, 1, 0)", kScope),
                    kExponential = parse("-log(open_uniform(w, v)) / a", kScope);
  switch (distribution) {
    case op::Distribution::Uniform: return &kUniform;
    case op::Distribution::Normal: return &kNormal;
    case op::Distribution::Bernoulli: return &kBernoulli;
    case op::Distribution::Exponential: return &kExponential;
    default: return nullptr;
  }
}

const Tree* sample(op::Distribution distribution) {
  static const auto of = [](std::string_view function) {
    const Variable scope[] = {{"a"}, {"b"}, {"e", Type::Word}, {"f", Type::Word}, {"k", Type::Word}, {"l", Type::Word}};
    return parse(text(function, "(a, b, e, f, k, l)"), scope);
  };
  static const Tree kTruncatedNormal = of("draw_truncated_normal"), kGamma = of("draw_gamma"), kBeta = of("draw_beta"),
                    kPoisson = of("draw_poisson"), kInteger = of("draw_integer"), kCategorical = of("draw_below");
  switch (distribution) {
    case op::Distribution::TruncatedNormal: return &kTruncatedNormal;
    case op::Distribution::Gamma: return &kGamma;
    case op::Distribution::Beta: return &kBeta;
    case op::Distribution::Poisson: return &kPoisson;
    case op::Distribution::Integer: return &kInteger;
    case op::Distribution::Categorical: return &kCategorical;
    default: return nullptr;
  }
}

const Tree& dropout() {
  static const Variable kScope[] = {
      {"x"}, {"scale"}, {"threshold", Type::Word}, {"word", Type::Word}, {"odd", Type::Bool}};
  static const Tree kTree = parse("select(((word >> select(odd, 16, 0)) & 0xffff) >= threshold, x * scale, 0)", kScope);
  return kTree;
}

}  // namespace kiln::expr
