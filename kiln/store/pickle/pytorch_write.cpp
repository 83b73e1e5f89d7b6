#include <array>
#include <charconv>
#include <map>

#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/pickle/opcodes.hpp"
#include "kiln/store/pickle/pytorch.hpp"
#include "kiln/store/utf8.hpp"
#include "kiln/store/zip/zip_writer.hpp"

namespace kiln {
namespace {

using pickle::Op;

constexpr std::string_view kFolder = "archive/";
// These are in the order of DType; PyTorch has no storages of unsigned integers wider than 8 bits.
constexpr std::array<std::string_view, kDTypeCount> kStorages = {"DoubleStorage",
                                                                 "FloatStorage",
                                                                 "HalfStorage",
                                                                 "BFloat16Storage",
                                                                 "LongStorage",
                                                                 "IntStorage",
                                                                 "ShortStorage",
                                                                 "CharStorage",
                                                                 "",
                                                                 "",
                                                                 "",
                                                                 "ByteStorage",
                                                                 "BoolStorage"};

/// Writes a pickle of protocol 2.
class Pickler {
 public:
  Pickler& op(Op code) {
    out_ += static_cast<char>(code);
    return *this;
  }
  Pickler& string(std::string_view text) {
    op(Op::BinUnicode);
    append_number(out_, static_cast<std::uint32_t>(text.size()));
    out_ += text;
    return *this;
  }
  Pickler& number(std::int64_t value) {
    op(Op::Long1);
    append_number(out_, std::uint8_t{8});
    append_number(out_, value);
    return *this;
  }
  Pickler& global(std::string_view module, std::string_view name) {
    op(Op::Global);
    out_ += text(module, '\n', name, '\n');
    return *this;
  }
  Pickler& tuple(const Dims& numbers) {
    op(Op::Mark);
    for (const std::int64_t value : numbers) number(value);
    return op(Op::Tuple);
  }
  Pickler& protocol() {
    op(Op::Proto);
    out_ += '\x02';
    return *this;
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

void append_tensor(Pickler& out, const std::string& name, const StoredTensor& tensor, std::size_t key) {
  const std::string_view storage = kStorages[static_cast<std::size_t>(tensor.dtype)];
  require<ArgumentError>(is_utf8(name), "write_pytorch: the tensor name '", shown(name), "' is not UTF-8");
  require<ArgumentError>(!storage.empty(), "write_pytorch: tensor '", shown(name), "': PyTorch has no storage of ",
                         tensor.dtype);
  out.global("torch._utils", "_rebuild_tensor_v2").op(Op::Mark);
  out.op(Op::Mark)
      .string("storage")
      .global("torch", storage)
      .string(text(key))
      .string("cpu")
      .number(numel(tensor.shape));
  out.op(Op::Tuple).op(Op::BinPersId).number(0).tuple(tensor.shape).tuple(contiguous_strides(tensor.shape));
  out.op(Op::NewFalse).global("collections", "OrderedDict").op(Op::EmptyTuple).op(Op::Reduce);
  out.op(Op::Tuple).op(Op::Reduce);
}

using Tensors = std::map<std::string, StoredTensor>;

/// Appends a dict's key. "3" becomes a number, as PyTorch's optimizers have it.
void append_key(Pickler& out, std::string_view key) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error == std::errc() && end == key.data() + key.size()) out.number(number);
  else out.string(key);
}

/// Appends a dict of the tensors whose names begin with `prefix`, from `next` on, with nested dicts. `key` counts
/// tensors.
Tensors::const_iterator append_dict(Pickler& out, const Tensors& tensors, Tensors::const_iterator next,
                                    const std::string& prefix, std::size_t& key) {
  out.op(Op::EmptyDict).op(Op::Mark);
  while (next != tensors.end() && next->first.starts_with(prefix)) {
    const std::string& name = next->first;
    const std::size_t dot = name.find('.', prefix.size());
    append_key(out, std::string_view(name).substr(prefix.size(), dot - prefix.size()));
    if (dot == name.npos) {
      append_tensor(out, name, next->second, key++);
      ++next;
    } else {
      next = append_dict(out, tensors, next, name.substr(0, dot + 1), key);
    }
  }
  out.op(Op::SetItems);
  return next;
}

void write_archive(const Pickler& pickle, const Tensors& tensors, ByteSink sink) {
  ZipWriter zip(sink);
  zip.add(text(kFolder, "data.pkl"), pickle.bytes());
  zip.add(text(kFolder, "byteorder"), "little");
  for (std::size_t key = 0; const auto& [name, tensor] : tensors) {
    const TensorData data = tensor.read();
    zip.add(text(kFolder, "data/", key++), data.bytes());
  }
  zip.add(text(kFolder, "version"), "3\n");
  zip.finish();
}

}  // namespace

void write_pytorch(const TensorSource& source, ByteSink sink) {
  Pickler out;
  out.protocol().op(Op::EmptyDict).op(Op::Mark);
  std::map<std::string_view, std::size_t> keys;
  for (const auto& [name, tensor] : source.tensors) {
    const std::size_t key = keys.emplace(name, keys.size()).first->second;
    out.string(name);
    append_tensor(out, name, tensor, key);
  }
  for (const auto& [name, first] : source.aliases)  // a tied tensor refers to the same storage
    if (const auto tensor = source.tensors.find(first); tensor != source.tensors.end()) {
      out.string(name);
      append_tensor(out, name, tensor->second, keys.at(first));
    }
  out.op(Op::SetItems).op(Op::Stop);
  write_archive(out, source.tensors, sink);
}

void write_pytorch_nested(const TensorSource& source, ByteSink sink) {
  Pickler out;
  out.protocol();
  std::size_t key = 0;
  append_dict(out, source.tensors, source.tensors.begin(), "", key);
  out.op(Op::Stop);
  write_archive(out, source.tensors, sink);
}

}  // namespace kiln
