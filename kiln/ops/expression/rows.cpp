#include "kiln/ops/expression/rows.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/ops/expression/parse.hpp"

namespace kiln::expr {
namespace {

template <class Fn>
std::vector<Tree> parse_rows() {
  const Variable scope[] = {{"x"}, {"y"}};
  std::vector<Tree> trees;
  for (std::size_t i = 0; i < enumerator_count(Fn()); ++i)
    trees.push_back(
        parse(op::expression(static_cast<Fn>(i)), std::span(scope, std::is_same_v<Fn, op::UnaryFn> ? 1 : 2)));
  return trees;
}

}  // namespace

const Tree& tree(op::UnaryFn fn) {
  static const std::vector<Tree> kTrees = parse_rows<op::UnaryFn>();
  return kTrees[static_cast<std::size_t>(fn)];
}
const Tree& tree(op::BinaryFn fn) {
  static const std::vector<Tree> kTrees = parse_rows<op::BinaryFn>();
  return kTrees[static_cast<std::size_t>(fn)];
}

const Tree& tree(op::SpecialFn fn) {
  static const std::vector<Tree> kTrees = [] {
    const Variable scope[] = {{"x"}, {"y"}, {"w"}};
    std::vector<Tree> trees;
    for (std::size_t i = 0; i < kSpecialCount; ++i) {
      const auto each = static_cast<op::SpecialFn>(i);
      const std::string_view operands[] = {"(x)", "(x, y)", "(x, y, w)"};
      const auto count = static_cast<std::size_t>(arity(each));
      trees.push_back(parse(text(op::name(each), operands[count - 1]), std::span(scope, count)));
    }
    return trees;
  }();
  return kTrees[static_cast<std::size_t>(fn)];
}
const Tree& greatest_common_divisor() {
  static const Variable kScope[] = {{"x"}, {"y"}};
  static const Tree kTree = parse("gcd(x, y)", kScope);
  return kTree;
}

int arity(op::SpecialFn fn) {
  constexpr int kArities[] = {
#define KILN_SPECIAL_OF_1(...) 1,
#define KILN_SPECIAL_OF_2(...) 2,
#define KILN_SPECIAL_OF_3(...) 3,
#include "kiln/ops/special/special.def"
  };
  return kArities[static_cast<std::size_t>(fn)];
}

bool computes(op::Domain domain, DType dtype) {
  switch (domain) {
    case op::Domain::Float: return is_float(dtype);
    case op::Domain::Number: return dtype != DType::Bool;
    case op::Domain::Integer: return !is_float(dtype);
    case op::Domain::Bool: return dtype == DType::Bool;
    case op::Domain::Any: return true;
  }
  return false;
}

}  // namespace kiln::expr
