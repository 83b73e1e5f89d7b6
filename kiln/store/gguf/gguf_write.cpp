#include <cmath>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/parse_number.hpp"
#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/gguf/blocks.hpp"
#include "kiln/store/gguf/gguf.hpp"
#include "kiln/store/utf8.hpp"

namespace kiln {
namespace {

constexpr std::uint64_t kAlignment = 32;
constexpr std::uint32_t kVersion = 3, kBool = 7, kString = 8, kI64 = 11, kF64 = 12;
constexpr int kMostDims = 4;  // the limit of ggml
constexpr float kLargestHalf = 65504;

std::uint64_t aligned(std::uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

void append_string(std::string& out, std::string_view text) {
  require<ArgumentError>(is_utf8(text), "write_gguf: '", shown(text), "' is not UTF-8");
  append_number(out, static_cast<std::uint64_t>(text.size()));
  out += text;
}

/// Returns whether the whole text is a number of type T. Texts that do not begin like a number are none: "nan", "007".
template <class T>
bool read_number(std::string_view text, T& number) {
  const std::string_view digits = text.substr(text.starts_with('-'));
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return false;
  if (digits.size() > 1 && digits[0] == '0' && digits[1] != '.') return false;
  const auto [end, error] = parse_number(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

void append_value(std::string& out, std::string_view text) {
  std::int64_t whole = 0;
  double real = 0;
  if (text == "true" || text == "false") {
    append_number(out, kBool);
    append_number(out, static_cast<std::uint8_t>(text == "true"));
  } else if (read_number(text, whole)) {
    append_number(out, kI64);
    append_number(out, whole);
  } else if (read_number(text, real)) {
    append_number(out, kF64);
    append_number(out, real);
  } else {
    append_number(out, kString);
    append_string(out, text);
  }
}

/// Returns how a tensor is written: quantised if its source says so and GGUF has that encoding, otherwise as it is.
const gguf::Encoding& encoding_of(const std::string& name, const StoredTensor& tensor) {
  if (const gguf::Encoding* const quantised = gguf::find_written(tensor.encoding))
    if (is_float(tensor.dtype) && !tensor.shape.empty() && tensor.shape.back() % quantised->block == 0)
      return *quantised;
  const gguf::Encoding* const plain = gguf::plain_encoding(tensor.dtype);
  require<ArgumentError>(plain != nullptr, "write_gguf: tensor '", shown(name), "': GGUF has no ", tensor.dtype);
  return *plain;
}

std::uint64_t bytes_of(const StoredTensor& tensor, const gguf::Encoding& encoding) {
  return static_cast<std::uint64_t>(numel(tensor.shape) / encoding.block * encoding.bytes);
}

TensorData encoded(const std::string& name, const TensorData& data, const gguf::Encoding& encoding) {
  const TensorData floats = data.to(DType::F32);
  const std::span<const float> from = floats.as<float>();
  for (const float element : from)
    require<ArgumentError>(std::abs(element) <= kLargestHalf, "write_gguf: tensor '", shown(name), "' has ", element,
                           ", which ", encoding.name, " cannot hold");
  std::vector<std::byte> blocks(from.size() / static_cast<std::size_t>(encoding.block) *
                                static_cast<std::size_t>(encoding.bytes));
  for (std::size_t i = 0, at = 0; i < from.size(); i += static_cast<std::size_t>(encoding.block)) {
    encoding.encode(from.data() + i, blocks.data() + at);
    at += static_cast<std::size_t>(encoding.bytes);
  }
  const Shape size{static_cast<std::int64_t>(blocks.size())};
  return TensorData(size, DType::U8, std::move(blocks));
}

}  // namespace

TensorSource quantised_for_gguf(const TensorSource& source, std::string_view encoding) {
  require<ArgumentError>(gguf::find_written(encoding) != nullptr, "quantised_for_gguf: '", shown(encoding),
                         "' is not q8_0 or q4_0, which Kiln writes");
  TensorSource result = source;
  for (auto& [name, tensor] : result.tensors)
    if (tensor.shape.size() >= 2 && is_float(tensor.dtype)) tensor.encoding = encoding;
  return result;
}

void write_gguf(const TensorSource& source, ByteSink sink) {
  Metadata metadata = source.metadata;
  metadata.erase("general.alignment");  // Kiln uses the usual alignment
  metadata.erase("general.file_type");  // the type of most weights, which may have changed
  std::string header = "GGUF";
  append_number(header, kVersion);
  append_number(header, static_cast<std::uint64_t>(source.tensors.size()));
  append_number(header, static_cast<std::uint64_t>(metadata.size()));
  for (const auto& [key, value] : metadata) {
    append_string(header, key);
    append_value(header, value);
  }
  std::uint64_t place = 0;
  for (const auto& [name, tensor] : source.tensors) {
    const gguf::Encoding& encoding = encoding_of(name, tensor);
    require<ArgumentError>(tensor.shape.size() <= kMostDims, "write_gguf: tensor '", shown(name), "': shape ",
                           tensor.shape, " has more than ", kMostDims, " dimensions");
    append_string(header, name);
    append_number(header, static_cast<std::uint32_t>(tensor.shape.size()));
    for (int i = tensor.shape.size(); i-- > 0;) append_number(header, tensor.shape[i]);
    append_number(header, encoding.id);
    append_number(header, place);
    place += aligned(bytes_of(tensor, encoding));
  }
  header.resize(aligned(header.size()), '\0');
  sink(std::as_bytes(std::span(header)));
  for (const auto& [name, tensor] : source.tensors) {
    const gguf::Encoding& encoding = encoding_of(name, tensor);
    const TensorData data = encoding.encode ? encoded(name, tensor.read(), encoding) : tensor.read();
    sink(data.bytes());
    const std::string padding(aligned(data.bytes().size()) - data.bytes().size(), '\0');
    sink(std::as_bytes(std::span(padding)));
  }
}

}  // namespace kiln
