// Sequences and optionals.
#include <algorithm>

#include "kiln/onnx/operators/broadcast.hpp"

namespace kiln::onnx {
namespace {

// The place of `position` in a sequence of `size`; one behind the last is a place to insert at.
std::size_t place_of(const Call& c, std::int64_t position, std::size_t size, bool behind) {
  const auto length = static_cast<std::int64_t>(size);
  const std::int64_t place = position < 0 ? position + length : position;
  c.check(place >= 0 && place < length + behind, "position ", position, " in a sequence of ", size);
  return static_cast<std::size_t>(place);
}

Results sequence_at(Call& c) {
  const std::vector<Datum>& items = c.datum(0).items();
  return items[place_of(c, c.integer(1), items.size(), false)];
}

Results sequence_insert(Call& c) {
  std::vector<Datum> items = c.datum(0).items();
  const std::size_t place = c.has(2) ? place_of(c, c.integer(2), items.size(), true) : items.size();
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(place), c.datum(1));
  return Datum::sequence(std::move(items));
}

Results sequence_erase(Call& c) {
  std::vector<Datum> items = c.datum(0).items();
  const std::size_t place = place_of(c, c.has(1) ? c.integer(1) : -1, items.size(), false);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(place));
  return Datum::sequence(std::move(items), c.datum(0).element());
}

Results concat_from_sequence(Call& c) {
  const std::vector<Datum> items = with_one_list(c.datum(0).items());
  c.check(!items.empty(), "the sequence is empty");
  const bool fresh = c.i("new_axis", 0) != 0;
  Values values;
  for (const Datum& item : items) values.push_back(item.value());
  const int axis = c.dim(c.i("axis", 0), values[0].rank() + fresh);
  return items[0].like(fresh ? stack(values, axis) : cat(values, axis));
}

Results split_to_sequence(Call& c) {
  const Value& x = c[0];
  const int axis = c.dim(c.i("axis", 0), x.rank());
  const bool ones = !c.has(1), drops = ones && c.i("keepdims", 1) == 0;
  Ints sizes = ones ? Ints{1} : c.ints(1);
  if (ones || c[1].rank() == 0) {
    const std::int64_t size = sizes.at(0);
    c.check(size > 0, "parts of ", size);
    c.check_room(x.dim(axis) / size + 1, 512);
    sizes.clear();
    for (std::int64_t left = x.dim(axis); left > 0; left -= size) sizes.push_back(std::min(left, size));
  }
  std::vector<Datum> parts;
  std::int64_t place = 0;
  for (const std::int64_t size : sizes) {
    const Value part = narrow(x, axis, place, size);
    parts.push_back(c.like(0, drops ? squeeze(part, axis) : part));
    place += size;
  }
  c.check(place == x.dim(axis), "the parts have ", place, " elements of dimension ", axis, " of ", x.shape());
  return Datum::sequence(std::move(parts), c.datum(0).element());
}

Results optional_of(Call& c) {
  if (!c.has(0)) return Datum::empty_optional();
  return Datum::optional(c.datum(0));
}

Results optional_get(Call& c) {
  const Datum& x = c.datum(0);
  if (x.kind() != Datum::Kind::Optional) return x;
  c.check(x.held() != nullptr, "the optional is empty");
  return *x.held();
}

Results optional_has(Call& c) {
  const bool has = c.has(0) && (c.datum(0).kind() != Datum::Kind::Optional || c.datum(0).held());
  return full({}, has, c.device(), DType::Bool);
}

constexpr OperatorRow kContainersRows[] = {
    {"ConcatFromSequence", 11, concat_from_sequence, {.rank = ResultRank::OfData}},
    {"Optional", 15, optional_of, {.rank = ResultRank::OfData}},
    {"OptionalGetElement", 15, optional_get, {.rank = ResultRank::OfData}},
    {"OptionalHasElement", 15, optional_has},
    {"SequenceAt", 11, sequence_at, {.rank = ResultRank::OfData}},
    {"SequenceConstruct", 11, [](Call& c) -> Results { return Datum::sequence(c.in); }},
    {"SequenceEmpty", 11, [](Call& c) -> Results { return Datum::sequence({}, c.element("dtype", Element::Float)); }},
    {"SequenceErase", 11, sequence_erase},
    {"SequenceInsert", 11, sequence_insert, {.folds = false}},
    {"SequenceLength", 11,
     [](Call& c) -> Results {
       const auto size = static_cast<std::int64_t>(c.datum(0).items().size());
       return from_data(TensorData::of<std::int64_t>({}, {size}), c.device());
     }},
    {"SplitToSequence", 11, split_to_sequence},
};

}  // namespace

std::span<const OperatorRow> containers_rows() { return kContainersRows; }

}  // namespace kiln::onnx
