// An ONNX model as a tree of protobuf's fields, changed and written again.
#include "tests/fuzz/changes.hpp"

namespace kiln::test {
namespace {

/// What a field of bytes holds, as far as the format's messages need be told apart (onnx.proto).
enum class Message {
  None,
  Model,
  Graph,
  Node,
  Attribute,
  Tensor,
  Value,
  Type,
  TensorType,
  Shape,
  Dim,
  Function,
  Entry
};

Message inside(Message message, std::uint64_t field) {
  switch (message) {
    case Message::Model: return field == 7 ? Message::Graph : field == 25 ? Message::Function : Message::None;
    case Message::Graph:
      return field == 1                   ? Message::Node
             : field == 5                 ? Message::Tensor
             : field >= 11 && field <= 13 ? Message::Value
                                          : Message::None;
    case Message::Node: return field == 5 ? Message::Attribute : Message::None;
    case Message::Attribute:
      return field == 5 || field == 10 ? Message::Tensor : field == 6 || field == 11 ? Message::Graph : Message::None;
    case Message::Value: return field == 2 ? Message::Type : Message::None;
    case Message::Type: return field == 1 ? Message::TensorType : Message::None;
    case Message::TensorType: return field == 2 ? Message::Shape : Message::None;
    case Message::Shape: return field == 1 ? Message::Dim : Message::None;
    case Message::Tensor: return field == 13 ? Message::Entry : Message::None;  // where external data lie
    case Message::Function: return field == 7 ? Message::Node : Message::None;
    default: return Message::None;
  }
}

struct Field {
  std::uint64_t number = 0, wire = 0, value = 0;  // value: of wire types 0, 1 and 5
  Message message = Message::None;                // of wire type 2
  std::string bytes = {};                         // where it is no message
  std::vector<Field> fields = {};
};

std::uint64_t varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto next = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(next & 127) << shift;
    if (next < 128) break;
  }
  return value;
}
void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

/// False where the bytes are no such message.
bool parse(std::string_view rest, Message message, std::vector<Field>& fields, int depth = 0) {
  if (depth > 24) return false;
  while (!rest.empty()) {
    const std::uint64_t key = varint(rest);
    Field field{.number = key >> 3, .wire = key & 7};
    if (field.wire == 0) {
      field.value = varint(rest);
    } else if (field.wire == 1 || field.wire == 5) {
      const std::size_t size = field.wire == 1 ? 8 : 4;
      if (rest.size() < size) return false;
      for (std::size_t i = 0; i < size; ++i)
        field.value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest[i])) << 8 * i;
      rest.remove_prefix(size);
    } else if (field.wire == 2) {
      const std::uint64_t size = varint(rest);
      if (size > rest.size()) return false;
      const std::string_view bytes = rest.substr(0, static_cast<std::size_t>(size));
      rest.remove_prefix(bytes.size());
      field.message = inside(message, field.number);
      if (field.message == Message::None) field.bytes = bytes;
      else if (!parse(bytes, field.message, field.fields, depth + 1)) return false;
    } else {
      return false;
    }
    fields.push_back(std::move(field));
  }
  return true;
}

std::string write(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) {
    put_varint(out, field.number << 3 | field.wire);
    if (field.wire == 0) put_varint(out, field.value);
    for (std::size_t i = 0; i < (field.wire == 1 ? 8 : field.wire == 5 ? 4 : 0); ++i)
      out += static_cast<char>(field.value >> 8 * i);
    if (field.wire == 2) {
      const std::string bytes = field.message == Message::None ? field.bytes : write(field.fields);
      put_varint(out, bytes.size());
      out += bytes;
    }
  }
  return out;
}

struct Place {
  std::vector<Field>* list;
  std::size_t at;
  Message in;
};
void gather(std::vector<Field>& fields, Message message, std::vector<Place>& all) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    all.push_back({&fields, i, message});
    gather(fields[i].fields, fields[i].message, all);
  }
}

std::string odd_word(Random& random) {
  static const std::string kWords[] = {"",           "x",         "y",        "linear",  "nearest",    "cubic",
                                       "SAME_UPPER", "VALID",     "constant", "reflect", "wrap",       "edge",
                                       "max",        "min",       "mean",     "sum",     "none",       "(a|b)*",
                                       "ij,jk->ik",  "...i->...", "LEFT",     "forward", "reverse",    "bidirectional",
                                       "NHWC",       "DCR",       "CRD",      "\xff",    "half_pixel", "align_corners"};
  return kWords[one_of(std::size(kWords), random)];
}

std::string odd_path(Random& random) {
  static const std::string kPaths[] = {"weights.bin",   "../weights.bin",   "/etc/passwd", ".",      "",
                                       "weights.bin/x", "a/../weights.bin", "location",    "offset", "length",
                                       "checksum"};
  return kPaths[one_of(std::size(kPaths), random)];
}

/// An attribute that nodes of some operators read, of an extreme number or several.
Field made_up_attribute(Random& random) {
  static const std::string_view kNames[] = {"axis",
                                            "axes",
                                            "keepdims",
                                            "group",
                                            "strides",
                                            "pads",
                                            "dilations",
                                            "kernel_shape",
                                            "num_heads",
                                            "kv_num_heads",
                                            "hidden_size",
                                            "blocksize",
                                            "k",
                                            "depth",
                                            "size",
                                            "batch_dims",
                                            "perm",
                                            "to",
                                            "block_size",
                                            "num_outputs",
                                            "noop_with_empty_axes",
                                            "output_padding",
                                            "output_shape",
                                            "ceil_mode",
                                            "storage_order",
                                            "softcap",
                                            "num_groups",
                                            "stash_type",
                                            "layout",
                                            "linear_before_reset",
                                            "clip",
                                            "p",
                                            "alpha",
                                            "beta",
                                            "epsilon",
                                            "sampling_ratio",
                                            "output_height",
                                            "output_width",
                                            "detect_positive",
                                            "select_last_index",
                                            "largest",
                                            "sorted",
                                            "exclusive",
                                            "reverse",
                                            "start",
                                            "end",
                                            "count_include_pad",
                                            "window_size",
                                            "max_gram_length"};
  Field attribute{.number = 5, .wire = 2, .message = Message::Attribute};
  attribute.fields.push_back({.number = 1, .wire = 2, .bytes = std::string(kNames[one_of(std::size(kNames), random)])});
  const bool one = random.below(2) == 0;
  for (std::int64_t left = one ? 1 : 1 + random.below(4); left > 0; --left)
    attribute.fields.push_back(
        {.number = one ? 3u : 8u, .wire = 0, .value = static_cast<std::uint64_t>(extreme(random))});
  attribute.fields.push_back({.number = 20, .wire = 0, .value = one ? 2u : 7u});
  return attribute;
}

/// Elements of a tensor's raw data, mostly of eight bytes.
void change_raw(std::string& bytes, Random& random) {
  if (bytes.empty()) return;
  const auto number = static_cast<std::uint64_t>(extreme(random));
  const std::size_t width = std::size_t{1} << random.below(4), at = one_of(bytes.size(), random) / width * width;
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i) bytes[at + i] = static_cast<char>(number >> 8 * i);
}

}  // namespace

void change_onnx(FileContents& file, Random& random) {
  std::vector<Field> model;
  if (!parse(text_of(file), Message::Model, model)) return;
  std::vector<Place> all, wanted;
  gather(model, Message::Model, all);
  if (all.empty()) return;
  // Attributes and tensors more often than names.
  for (const Place& place : all)
    if (place.in == Message::Attribute || place.in == Message::Tensor || place.in == Message::Node)
      wanted.push_back(place);
  const std::vector<Place>& from = wanted.empty() || random.below(4) == 0 ? all : wanted;
  const Place place = from[one_of(from.size(), random)];
  std::vector<Field>& list = *place.list;
  Field& field = list[place.at];
  const std::int64_t what = random.below(8);
  if (what == 0 && list.size() > 1) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(place.at));
  } else if (what == 1) {
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(one_of(list.size() + 1, random)), Field(field));
  } else if (what == 2) {
    std::swap(field, list[one_of(list.size(), random)]);
  } else if (what == 3 && place.in == Message::Node) {
    list.push_back(made_up_attribute(random));
  } else if (field.wire == 0) {
    field.value = random.below(4) ? static_cast<std::uint64_t>(extreme(random)) : field.value + 1;
  } else if (field.wire != 2) {
    field.value = random.below(2) ? ~std::uint64_t{0} : static_cast<std::uint64_t>(extreme(random));
  } else if (field.message == Message::None) {
    if (place.in == Message::Tensor && field.number == 9) change_raw(field.bytes, random);
    else if (place.in == Message::Entry) field.bytes = random.below(2) ? text(extreme(random)) : odd_path(random);
    else if (random.below(3)) field.bytes = odd_word(random);
    else field.bytes = field.bytes + field.bytes;
  }
  file = contents_of(write(model));
}

}  // namespace kiln::test
