#include "kiln/fusion/draft.hpp"

#include <map>
#include <optional>

namespace kiln::fusion {
namespace {

bool keeps_elements(const op::Op& op) {
  return std::holds_alternative<op::Reshape>(op.is) || std::holds_alternative<op::Expand>(op.is) ||
         std::holds_alternative<op::Permute>(op.is);
}

}  // namespace

Draft::Draft(const Segment& segment) : entries_(segment.entries()), references_(segment.references()) {
  const auto desc = [&](Reference value) -> const Desc& { return segment.values()[value.index()]->desc; };
  std::vector<Reference> same;  // of each value: the first that is equal
  for (std::uint32_t i = 0; i < segment.values().size(); ++i) same.push_back(Reference::value(i));
  std::vector<std::optional<Reference>> filled_with(same.size());  // the number, of values that are nothing else
  std::map<std::vector<std::uint64_t>, Reference> known;           // what an operation on its operands has given

  for (Segment::Entry& entry : entries_) {
    Reference* const operands = &references_[entry.first];
    for (std::size_t i = 0; i < entry.operands; ++i)
      if (operands[i].is_value()) operands[i] = same[operands[i].index()];
    if (entry.results != 1 || entry.operands == 0 || std::holds_alternative<op::Custom>(entry.op.is)) continue;
    const Reference result = operands[entry.operands];

    if (std::holds_alternative<op::Fill>(entry.op.is) && operands[0].is_number()) {
      filled_with[result.index()] = operands[0];
    } else if (keeps_elements(entry.op)) {
      filled_with[result.index()] = filled_with[operands[0].index()];
    } else if (std::holds_alternative<op::Binary>(entry.op.is) && operands[0].is_value() && operands[1].is_value()) {
      for (const std::size_t i : {0, 1}) {
        const std::optional<Reference> number = filled_with[operands[i].index()];
        if (!number || desc(operands[1 - i]).shape != desc(result).shape) continue;
        operands[i] = *number;
        break;
      }
    }

    std::vector<std::uint64_t> words;
    encode(entry.op, words);
    for (std::size_t i = 0; i < entry.operands; ++i) words.push_back(operands[i].code());
    const auto [first, fresh] = known.try_emplace(std::move(words), result);
    if (fresh) continue;
    entry.op = op::Reshape{desc(result).shape};
    entry.operands = 1;
    operands[0] = same[result.index()] = first->second;
    operands[1] = result;
    filled_with[result.index()] = filled_with[first->second.index()];
  }
}

}  // namespace kiln::fusion
