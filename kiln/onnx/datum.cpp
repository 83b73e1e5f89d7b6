#include "kiln/onnx/datum.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/parse_number.hpp"
#include "kiln/core/trimmed.hpp"
#include "kiln/onnx/room.hpp"

namespace kiln::onnx {

namespace {

// Strings that the memory limit counts as long as they exist.
std::shared_ptr<const Strings> counted(Strings strings) {
  struct Counted {
    Counted(Strings list, std::int64_t size) : bytes(size), strings(std::move(list)) {}
    StringBytes bytes;
    Strings strings;
  };
  auto bytes = static_cast<std::int64_t>(strings.size() * sizeof(std::string));
  for (const std::string& each : strings) bytes += static_cast<std::int64_t>(each.size());
  const auto held = std::make_shared<const Counted>(std::move(strings), bytes);
  return {held, &held->strings};
}

}  // namespace

Datum Datum::of_strings(const Shape& shape, Strings strings, const Device& device) {
  std::vector<std::int64_t> numbers(strings.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const TensorData data = TensorData::of<std::int64_t>(shape, numbers);
  return {from_data(data, device), counted(std::move(strings))};
}
Datum Datum::sequence(std::vector<Datum> items, Element element) {
  Datum datum;
  datum.kind_ = Kind::Sequence;
  datum.element_ = items.empty() ? element : items.front().element();
  datum.items_ = std::make_shared<std::vector<Datum>>(std::move(items));
  return datum;
}
Datum Datum::optional(Datum element) {
  Datum datum;
  datum.kind_ = Kind::Optional;
  datum.items_ = std::make_shared<std::vector<Datum>>(1, std::move(element));
  return datum;
}
Datum Datum::empty_optional() {
  Datum datum;
  datum.kind_ = Kind::Optional;
  datum.items_ = std::make_shared<std::vector<Datum>>();
  return datum;
}
Datum Datum::map(Map entries) {
  Datum datum;
  datum.kind_ = Kind::Map;
  datum.map_ = std::make_shared<Map>(std::move(entries));
  return datum;
}

const Value& Datum::value() const {
  require<DTypeError>(is_tensor(), "expected a tensor, got ", *this);
  return value_;
}
const std::vector<Datum>& Datum::items() const {
  require<DTypeError>(kind_ == Kind::Sequence, "expected a sequence, got ", *this);
  return *items_;
}
const Datum::Map& Datum::entries() const {
  require<DTypeError>(kind_ == Kind::Map, "expected a map, got ", *this);
  return *map_;
}
const Datum* Datum::held() const {
  require<DTypeError>(kind_ == Kind::Optional, "expected an optional, got ", *this);
  return items_->empty() ? nullptr : &items_->front();
}
Strings Datum::strings() const {
  require<DTypeError>(is_string(), "expected a tensor of strings, got ", *this);
  const TensorData numbers = value_.data();
  Strings out;
  for (const std::int64_t number : numbers.as<std::int64_t>())
    out.push_back(strings_->at(static_cast<std::size_t>(number)));
  return out;
}

std::vector<std::int64_t> ranks_of(const Strings& words, Strings& sorted) {
  sorted = words;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<std::int64_t> ranks;
  for (const std::string& word : words)
    ranks.push_back(std::lower_bound(sorted.begin(), sorted.end(), word) - sorted.begin());
  return ranks;
}

std::vector<Datum> with_one_list(std::vector<Datum> tensors) {
  const bool any = std::any_of(tensors.begin(), tensors.end(), [](const Datum& datum) { return datum.is_string(); });
  if (!any) return tensors;
  Strings list;
  std::vector<Value> numbers;
  for (const Datum& tensor : tensors) {
    if (!tensor.is_string()) {
      numbers.emplace_back();
      continue;
    }
    numbers.push_back(tensor.value() + static_cast<std::int64_t>(list.size()));
    list.insert(list.end(), tensor.string_list()->begin(), tensor.string_list()->end());
  }
  const std::shared_ptr<const Strings> all = counted(std::move(list));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].is_string()) tensors[i] = Datum(numbers[i], all);
  return tensors;
}

Datum datum_of(const TensorProto& tensor, TensorReader& reader, const Device& device) {
  if (tensor.element == Element::String) return Datum::of_strings(reader.shape(tensor), reader.strings(tensor), device);
  return {from_data(reader.read(tensor), device), tensor.element};
}

Datum datum_of(const SparseTensorProto& tensor, TensorReader& reader, const Device& device) {
  TensorProto like;
  like.name = tensor.values.name;
  like.dims = tensor.dims;
  const Shape shape = reader.shape(like);
  const TensorData values = reader.read(tensor.values), indices = reader.read(tensor.indices);
  const std::string where = text(shown(reader.file()), ": sparse tensor '", shown(like.name), "'");
  // A few bytes of a file must not ask for all memory there is.
  require<DataError>(numel(shape) <= std::max<std::int64_t>(values.numel() * 65536, 1 << 24), where, " has the shape ",
                     shape, " and only ", values.numel(), " values");
  const bool by_coordinates = indices.shape().size() == 2;
  require<DataError>(indices.dtype() == DType::I64 && values.shape().size() == 1 &&
                         (by_coordinates ? indices.shape() == Shape{values.numel(), shape.size()}
                                         : indices.shape() == Shape{values.numel()}),
                     where, " has ", values.numel(), " values and indices of shape ", indices.shape());
  TensorData dense(shape, values.dtype());
  const auto places = indices.as<std::int64_t>();
  const std::size_t size = size_of(values.dtype());
  for (std::size_t i = 0; i < static_cast<std::size_t>(values.numel()); ++i) {
    std::int64_t place = by_coordinates ? 0 : places[i];
    bool inside = true;
    if (by_coordinates)
      for (int d = 0; d < shape.size(); ++d) {
        const std::int64_t at = places[i * static_cast<std::size_t>(shape.size()) + static_cast<std::size_t>(d)];
        inside = inside && at >= 0 && at < shape[d];
        if (inside) place = place * shape[d] + at;
      }
    require<DataError>(inside && place >= 0 && place < numel(shape), where, " has an index outside of ", shape);
    std::copy_n(values.bytes().begin() + static_cast<std::ptrdiff_t>(i * size), size,
                dense.bytes().begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(place) * size));
  }
  return {from_data(std::move(dense), device), tensor.values.element};
}

Datum datum_of(const SequenceProto& sequence, TensorReader& reader, const Device& device) {
  std::vector<Datum> items;
  for (const TensorProto& tensor : sequence.tensors) items.push_back(datum_of(tensor, reader, device));
  for (const SequenceProto& inner : sequence.sequences) items.push_back(datum_of(inner, reader, device));
  for (const OptionalProto& inner : sequence.optionals) items.push_back(datum_of(inner, reader, device));
  return Datum::sequence(std::move(items));
}

Datum datum_of(const OptionalProto& optional, TensorReader& reader, const Device& device) {
  if (optional.tensor) return Datum::optional(datum_of(*optional.tensor, reader, device));
  if (optional.sequence) return Datum::optional(datum_of(*optional.sequence, reader, device));
  return Datum::empty_optional();
}

namespace {

double number_in(const std::string& word) {
  std::string_view digits = trimmed(word, " \t\n\r");
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double number = 0;
  const auto [end, error] = parse_number(digits.data(), digits.data() + digits.size(), number);
  require<DataError>(error == std::errc() && end == digits.data() + digits.size() && !digits.empty(), "'", shown(word),
                     "' is no number");
  return number;
}

std::string written(const TensorData& data, std::int64_t i) {
  if (is_integer(data.dtype())) {
    std::string out;
    visit_dtype(data.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        out = std::to_string(data.as<T>()[static_cast<std::size_t>(i)]);
    });
    return out;
  }
  if (data.dtype() == DType::Bool) return data.at(i) != 0 ? "True" : "False";
  const double x = data.at(i);
  if (x != x) return "NaN";
  if (std::isinf(x)) return x > 0 ? "INF" : "-INF";
  char digits[64];
  const auto end = data.dtype() == DType::F64 ? std::to_chars(digits, digits + sizeof digits, x)
                                              : std::to_chars(digits, digits + sizeof digits, static_cast<float>(x));
  return {digits, end.ptr};
}

}  // namespace

Datum cast_to(const Datum& x, Element element, const NarrowRules& rules) {
  require<DataError>(is_known(element), "Kiln has no tensors of ", name(element));
  const Value& value = x.value();
  if (element == x.element()) return x;
  if (element == Element::String) {
    const TensorData data = value.data();
    Strings words;
    for (std::int64_t i = 0; i < data.numel(); ++i) words.push_back(written(data, i));
    return Datum::of_strings(data.shape(), std::move(words), value.device());
  }
  if (x.is_string()) {
    std::vector<double> numbers;
    for (const std::string& word : x.strings()) numbers.push_back(number_in(word));
    const Datum real = from_data(TensorData::of<double>(value.shape(), numbers), value.device());
    return cast_to(real, element, rules);
  }
  if (!is_narrow(element)) return {cast(value, dtype_of(element)), element};
  // One rounding, on the host: from the number to the nearest of few values.
  const TensorData data = value.data();
  TensorData out(data.shape(), dtype_of(element));
  for (std::int64_t i = 0; i < data.numel(); ++i) {
    const double rounded = round_to(element, data.at(i), rules);
    const auto at = static_cast<std::size_t>(i);
    if (out.dtype() == DType::F32) out.as<float>()[at] = static_cast<float>(rounded);
    else if (out.dtype() == DType::I8) out.as<std::int8_t>()[at] = static_cast<std::int8_t>(rounded);
    else out.as<std::uint8_t>()[at] = static_cast<std::uint8_t>(rounded);
  }
  return {from_data(std::move(out), value.device()), element};
}

void append(std::string& out, const Datum& datum) {
  switch (datum.kind()) {
    case Datum::Kind::Absent: out += "nothing"; break;
    case Datum::Kind::Tensor:
      out += text("tensor(", name(datum.element()), ") ");
      append(out, datum.value().shape());
      break;
    case Datum::Kind::Sequence: out += text("a sequence of ", datum.items().size()); break;
    case Datum::Kind::Optional:
      out += "an optional with ";
      if (datum.held()) append(out, *datum.held());
      else out += "nothing in it";
      break;
    case Datum::Kind::Map: out += text("a map of ", datum.entries().size()); break;
  }
}

}  // namespace kiln::onnx
