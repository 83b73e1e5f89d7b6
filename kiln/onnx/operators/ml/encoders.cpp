// ai.onnx.ml: labels, categories, dictionaries and features.
#include <algorithm>
#include <cmath>
#include <map>

#include "kiln/core/alternatives.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/operators/broadcast.hpp"

namespace kiln::onnx {
namespace {

// ---- labels: any kind of element, by its value --------------------------------------------------------------------
using Label = Alternatives<double, std::string>;  // NaN is one label; int64 beyond 2^53 is none that anybody uses
struct ByLabel {
  bool operator()(const Label& a, const Label& b) const {
    if (a.index() != b.index() || a.index() == 1) return a < b;
    const double x = std::get<double>(a), y = std::get<double>(b);
    return x == x && (y != y || x < y);
  }
};

std::vector<Label> labels_of(const Datum& datum) {
  std::vector<Label> labels;
  if (datum.is_string()) {
    for (std::string& word : datum.strings()) labels.emplace_back(std::move(word));
    return labels;
  }
  const TensorData data = datum.value().data();
  for (std::int64_t i = 0; i < data.numel(); ++i) labels.emplace_back(data.at(i));
  return labels;
}

Datum tensor_of(const Call& c, const std::vector<Label>& labels, const Shape& shape, Element element) {
  if (element == Element::String) {
    Strings words;
    for (const Label& label : labels) {
      c.check(label.index() == 1, "labels of several kinds");
      words.push_back(std::get<std::string>(label));
    }
    return Datum::of_strings(shape, std::move(words), c.device());
  }
  std::vector<double> numbers;
  for (const Label& label : labels) {
    c.check(label.index() == 0, "labels of several kinds");
    numbers.push_back(std::get<double>(label));
  }
  return cast_to(Datum(from_data(TensorData::of<double>(shape, numbers), c.device())), element);
}

// Attribute PREFIX_tensor, _strings, _int64s or _floats.
Datum list_of(const Call& c, const std::string& prefix) {
  const auto of = [&]<class T>(const std::vector<T>& list) {
    return Datum(
        from_data(TensorData::of<T>({static_cast<std::int64_t>(list.size())}, std::span<const T>(list)), c.device()));
  };
  if (c.given(prefix + "_tensor")) return *c.tensor(prefix + "_tensor");
  if (c.given(prefix + "_strings")) {
    Strings words = c.strings(prefix + "_strings");
    const auto count = static_cast<std::int64_t>(words.size());
    return Datum::of_strings({count}, std::move(words), c.device());
  }
  if (c.given(prefix + "_int64s")) return of(c.ints(prefix + "_int64s"));
  c.check(c.given(prefix + "_floats"), "there are no ", prefix);
  return of(c.floats(prefix + "_floats"));
}

Results label_encoder(Call& c) {
  const Datum& x = c.datum(0);
  std::vector<Label> keys, values;
  Element element;
  Label otherwise;
  if (c.version() < 2) {  // between words and their numbers
    const Strings words = c.strings("classes_strings");
    for (std::size_t i = 0; i < words.size(); ++i) {
      keys.emplace_back(words[i]);
      values.emplace_back(static_cast<double>(i));
    }
    element = x.is_string() ? Element::Int64 : Element::String;
    if (!x.is_string()) std::swap(keys, values);
    otherwise =
        x.is_string() ? Label(static_cast<double>(c.i("default_int64", -1))) : Label(c.s("default_string", "_Unused"));
  } else {
    const Datum from = list_of(c, "keys"), to = list_of(c, "values");
    keys = labels_of(from), values = labels_of(to), element = to.element();
    if (c.given("default_tensor")) {
      const std::vector<Label> given = labels_of(*c.tensor("default_tensor"));
      c.check(given.size() == 1, "default_tensor has ", given.size(), " elements");
      otherwise = given[0];
    } else if (element == Element::String) {
      otherwise = c.s("default_string", "_Unused");
    } else {
      otherwise =
          is_float(to.value().dtype()) ? c.f("default_float", -0.0) : static_cast<double>(c.i("default_int64", -1));
    }
  }
  c.check(keys.size() == values.size(), keys.size(), " keys and ", values.size(), " values");
  std::map<Label, Label, ByLabel> table;
  for (std::size_t i = 0; i < keys.size(); ++i) table[keys[i]] = values[i];
  std::vector<Label> out;
  for (const Label& label : labels_of(x)) {
    const auto found = table.find(label);
    out.push_back(found == table.end() ? otherwise : found->second);
  }
  return tensor_of(c, out, x.value().shape(), element);
}

Results category_mapper(Call& c) {
  const Datum& x = c.datum(0);
  const Strings words = c.strings("cats_strings");
  const Ints numbers = c.ints("cats_int64s");
  c.check(words.size() == numbers.size(), words.size(), " strings and ", numbers.size(), " numbers");
  std::vector<Label> out;
  for (const Label& label : labels_of(x)) {
    Label found =
        x.is_string() ? Label(static_cast<double>(c.i("default_int64", -1))) : Label(c.s("default_string", "_Unused"));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Label word = words[i], number = static_cast<double>(numbers[i]);
      if (label == (x.is_string() ? word : number)) found = x.is_string() ? number : word;
    }
    out.push_back(found);
  }
  return tensor_of(c, out, x.value().shape(), x.is_string() ? Element::Int64 : Element::String);
}

Results one_hot_encoder(Call& c) {
  const Datum& x = c.datum(0);
  std::vector<Label> categories;
  for (const std::string& word : c.strings("cats_strings")) categories.emplace_back(word);
  for (const std::int64_t number : c.ints("cats_int64s")) categories.emplace_back(static_cast<double>(number));
  const bool may_miss = c.i("zeros", 1) != 0;
  Shape shape = x.value().shape();
  shape.push_back(static_cast<std::int64_t>(categories.size()));
  std::vector<float> hot;
  for (Label label : labels_of(x)) {
    if (label.index() == 0) label = std::trunc(std::get<double>(label));
    const auto place = std::find(categories.begin(), categories.end(), label);
    c.check(may_miss || place != categories.end(), "an element is in no category");
    for (auto at = categories.begin(); at != categories.end(); ++at) hot.push_back(at == place ? 1.0f : 0.0f);
  }
  return from_data(TensorData::of<float>(shape, hot), c.device());
}

// ---- maps ---------------------------------------------------------------------------------------------------------
Results cast_map(Call& c) {
  const Datum::Map& entries = c.datum(0).entries();
  const std::string to = c.word("cast_to", "TO_FLOAT", {"TO_FLOAT", "TO_INT64", "TO_STRING"});
  const bool sparse = c.s("map_form", "DENSE") == "SPARSE";
  const std::int64_t most = c.i("max_map", 1);
  c.check(!sparse || (most >= 0 && most <= 1 << 20), "max_map is ", most);
  const Element element = to == "TO_FLOAT" ? Element::Float : to == "TO_INT64" ? Element::Int64 : Element::String;
  std::vector<Label> out;
  if (sparse)
    out.assign(static_cast<std::size_t>(most), element == Element::String ? Label(std::string()) : Label(0.0));
  for (const auto& [key, value] : entries) {
    c.check(key.index() == 0, "the keys are no integers");
    const Label label = labels_of(cast_to(value, element)).at(0);
    if (!sparse) {
      out.push_back(label);
      continue;
    }
    const std::int64_t place = std::get<0>(key);
    c.check(place >= 0, "key ", place, " of a map of ", most);
    if (place < most) out[static_cast<std::size_t>(place)] = label;
  }
  return tensor_of(c, out, {1, static_cast<std::int64_t>(out.size())}, element);
}

Results dict_vectorizer(Call& c) {
  const Datum::Map& entries = c.datum(0).entries();
  std::vector<Datum::Key> vocabulary;
  for (const std::string& word : c.strings("string_vocabulary")) vocabulary.emplace_back(word);
  for (const std::int64_t number : c.ints("int64_vocabulary")) vocabulary.emplace_back(number);
  const Element element = entries.empty() ? Element::Float : entries.begin()->second.element();
  std::vector<Label> out(vocabulary.size(), element == Element::String ? Label(std::string()) : Label(0.0));
  for (const auto& [key, value] : entries) {
    const auto place = std::find(vocabulary.begin(), vocabulary.end(), key);
    if (place == vocabulary.end()) continue;
    out[static_cast<std::size_t>(place - vocabulary.begin())] = labels_of(value).at(0);
  }
  return tensor_of(c, out, {1, static_cast<std::int64_t>(out.size())}, element);
}

Results zip_map(Call& c) {
  const Value& x = c[0];
  c.check(x.rank() == 1 || x.rank() == 2, "x has the shape ", x.shape());
  const Strings words = c.strings("classlabels_strings");
  const Ints numbers = c.ints("classlabels_int64s");
  const std::int64_t columns = x.dim(-1), rows = x.rank() == 2 ? x.dim(0) : 1;
  c.check(static_cast<std::int64_t>(words.empty() ? numbers.size() : words.size()) == columns, columns, " columns and ",
          words.size() + numbers.size(), " labels");
  const Value all = reshape(x, {rows, columns});
  std::vector<Datum> maps;
  for (std::int64_t row = 0; row < rows; ++row) {
    Datum::Map entries;
    for (std::int64_t i = 0; i < columns; ++i) {
      const auto at_i = static_cast<std::size_t>(i);
      const Datum::Key key = words.empty() ? Datum::Key(numbers[at_i]) : Datum::Key(words[at_i]);
      entries[key] = Datum(at(at(all, 0, row), 0, i));
    }
    maps.push_back(Datum::map(std::move(entries)));
  }
  return Datum::sequence(std::move(maps));
}

// ---- features -----------------------------------------------------------------------------------------------------
Value row_of(const Call& c, const std::vector<float>& list, const Value& x) {
  const auto count = static_cast<std::int64_t>(list.size());
  c.check(count == 1 || count == x.dim(-1), count, " numbers for ", x.shape());
  return from_data(TensorData::of<float>({count}, list), c.device());
}

Results binarizer(Call& c) { return of_type(gt(c[0], c.f("threshold", 0)), c[0].dtype()); }

Results imputer(Call& c) {
  const Value& x = c[0];
  if (is_float(x.dtype())) {
    const double wrong = c.f("replaced_value_float", 0);
    const Value hit = wrong != wrong ? is_nan(x) : eq(x, wrong);
    return of_type(where(hit, row_of(c, c.floats("imputed_value_floats"), x), x), x.dtype());
  }
  const Ints values = c.ints("imputed_value_int64s");
  c.check(values.size() == 1 || static_cast<std::int64_t>(values.size()) == x.dim(-1), values.size(), " numbers for ",
          x.shape());
  return of_type(where(eq(x, c.i("replaced_value_int64", 0)), from_ints(values, c.device()), x), x.dtype());
}

Results normalizer(Call& c) {
  const Value x = of_type(c[0], DType::F32);
  const std::string norm = c.word("norm", "MAX", {"MAX", "L1", "L2"});
  const Dims last{x.rank() - 1};
  const Value size = norm == "MAX"  ? max(x, last, true)
                     : norm == "L1" ? sum(abs(x), last, true)
                                    : sqrt(sum(square(x), last, true));
  return where(eq(size, 0), x, x / size);
}

Results scaler(Call& c) {
  const Value x = of_type(c[0], DType::F32);
  return (x - row_of(c, c.floats("offset"), x)) * row_of(c, c.floats("scale"), x);
}

Results feature_vectorizer(Call& c) {
  const Ints sizes = c.ints("inputdimensions");
  Values parts;
  for (const Value& x : c.rest()) {
    Value part = of_type(x.rank() == 1 ? unsqueeze(x, 0) : flatten(x, 1, -1), DType::F32);
    if (!sizes.empty()) {  // cut, or with zeros behind
      c.check(parts.size() < sizes.size(), sizes.size(), " inputdimensions for ", c.inputs(), " inputs");
      const std::int64_t size = sizes[parts.size()];
      c.check(size >= 0 && size <= 1 << 26, "one of the inputdimensions is ", size);
      part = pad(narrow(part, 1, 0, std::min(size, part.dim(1))), {0, 0},
                 {0, std::max<std::int64_t>(size - part.dim(1), 0)});
    }
    parts.push_back(part);
  }
  return cat(parts, 1);
}

Results array_feature_extractor(Call& c) {
  const Value x = c[0].rank() == 1 ? unsqueeze(c[0], 0) : c[0];
  return c.like(0, select(x, x.rank() - 1, reshape(of_type(c[1], DType::I64), {c[1].numel()})));
}

constexpr OperatorRow kEncodersRows[] = {
    {"ArrayFeatureExtractor", 1, array_feature_extractor},
    {"Binarizer", 1, binarizer},
    {"CastMap", 1, cast_map},
    {"CategoryMapper", 1, category_mapper},
    {"DictVectorizer", 1, dict_vectorizer},
    {"FeatureVectorizer", 1, feature_vectorizer},
    {"Imputer", 1, imputer},
    {"LabelEncoder", 1, label_encoder},
    {"Normalizer", 1, normalizer},
    {"OneHotEncoder", 1, one_hot_encoder},
    {"Scaler", 1, scaler},
    {"ZipMap", 1, zip_map},
};

}  // namespace

std::span<const OperatorRow> encoders_rows() { return kEncodersRows; }

}  // namespace kiln::onnx
