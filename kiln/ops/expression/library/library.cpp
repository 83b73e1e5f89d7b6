#include "kiln/ops/expression/library/library.hpp"

#include "kiln/ops/expression/parse.hpp"

namespace kiln::expr {
namespace {

std::deque<Function> read_all() {
  std::deque<Function> functions;
  for (const std::string_view text :
       {kBitsText, kArithmeticText, kElementaryText, kSpecialText, kNormalText, kIncompleteText, kBesselText,
        kPolynomialText, kNumbersText, kRandomText, kDrawText})
    parse_functions(text, functions);
  return functions;
}

}  // namespace

const std::vector<const Function*>& functions() {
  static const std::deque<Function> kFunctions = read_all();
  static const std::vector<const Function*> kPointers = [] {
    std::vector<const Function*> pointers;
    for (const Function& function : kFunctions) pointers.push_back(&function);
    return pointers;
  }();
  return kPointers;
}

const Function* find_function(std::string_view name) {
  for (const Function* function : functions())
    if (function->name == name) return function;
  return nullptr;
}

}  // namespace kiln::expr
