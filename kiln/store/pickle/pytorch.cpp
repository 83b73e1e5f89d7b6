#include "kiln/store/pickle/pytorch.hpp"

#include <algorithm>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/format/strided.hpp"
#include "kiln/store/pickle/flatten.hpp"
#include "kiln/store/pickle/unpickler.hpp"
#include "kiln/store/zip/zip_reader.hpp"

namespace kiln {
namespace {

using pickle::Tensor;

constexpr std::string_view kPickle = "data.pkl";
// PyTorch pickles the long number 0x1950a86a20f9469cfc6c at the beginning of a legacy file.
constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t kLegacyProtocol = 1001;

/// Returns the storage's elements; read_tensor() checks that there are enough bytes.
using Storage = std::function<FileBytes()>;

bool is_row_major(const Tensor& tensor) {
  std::int64_t step = 1;
  for (int i = tensor.shape.size(); i-- > 0; step *= tensor.shape[i])
    if (tensor.shape[i] != 1 && tensor.strides[i] != step) return false;
  return true;
}

TensorData read_tensor(const Tensor& tensor, const FileBytes& storage) {
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype));
  const auto held = static_cast<std::int64_t>(storage.bytes.size());
  if (numel(tensor.shape) == 0) return TensorData(tensor.shape, tensor.dtype);
  const std::int64_t count = tensor.storage.typed ? tensor.storage.count : tensor.storage.count / size;
  require<DataError>(count <= held / size, storage.name, ": ", held, " bytes, where ", count, " elements of ", size,
                     " bytes should be");
  if (!is_row_major(tensor)) return gather(storage.bytes, tensor.shape, tensor.dtype, tensor.strides, tensor.offset);
  const auto bytes = storage.bytes.subspan(static_cast<std::size_t>(tensor.offset * size),
                                           static_cast<std::size_t>(numel(tensor.shape) * size));
  return TensorData::lent(tensor.shape, tensor.dtype, bytes, storage.owner);
}

/// `find(key)` returns a storage, or null.
TensorSource tensors_of(const pickle::Value& root, const FileBytes& file, std::size_t pickled,
                        FunctionRef<Storage(const pickle::StorageRef&)> find) {
  TensorSource source;
  const auto put = [&](const std::string& name, StoredTensor stored) {
    const bool fresh = source.tensors.emplace(name, std::move(stored)).second;
    require<DataError>(fresh, file.name, ": tensor '", shown(name), "' occurs twice");
  };
  const auto leave_out = [&](const std::string& name, std::string_view type, const Shape& shape) {
    source.left_out.emplace(name, text("is of type '", shown(type), "' and shape ", shape, ": Kiln has no such type"));
  };
  const auto take = [&](const std::string& name, const pickle::Value& value) {
    if (const auto* const array = value.as<pickle::Array>()) {
      if (!array->unread.empty()) return leave_out(name, array->unread, array->shape);
      return put(name, stored(array->data));
    }
    const Tensor& tensor = *value.as<Tensor>();
    if (tensor.other) return leave_out(name, tensor.other->name, tensor.shape);
    const Storage storage = find(tensor.storage);
    require<DataError>(storage != nullptr, file.name, ": tensor '", shown(name), "': its storage '",
                       shown(tensor.storage.key), "' is not in the file");
    put(name, {.shape = tensor.shape,
               .dtype = tensor.dtype,
               .encoding = is_row_major(tensor) ? "" : "strided",
               .stored_bytes = numel(tensor.shape) * static_cast<std::int64_t>(size_of(tensor.dtype)),
               .read = [tensor, storage] { return read_tensor(tensor, storage()); }});
  };
  pickle::flatten(root, file.name, pickled, source.metadata, take);
  return source;
}

std::string pickle_name(const std::map<std::string, ZipEntry>& entries) {
  for (const auto& [name, entry] : entries)
    if (name == kPickle || name.ends_with("/data.pkl")) return name;
  return {};
}

TensorSource open_zip(const FileBytes& file) {
  const auto entries = read_zip(file);
  const std::string name = pickle_name(entries);
  require<DataError>(!name.empty(), file.name, ": the zip archive has no data.pkl: PyTorch did not write it");
  const std::string folder = name.substr(0, name.size() - kPickle.size());
  if (const auto order = entries.find(folder + "byteorder"); order != entries.end()) {
    constexpr std::uint64_t kLongestWord = 16;
    require<DataError>(order->second.size <= kLongestWord, file.name, ": the name of its byte order has ",
                       order->second.size, " bytes");
    const FileBytes word = zip_contents(file, order->first, order->second, true);
    const std::string_view said(reinterpret_cast<const char*>(word.bytes.data()), word.bytes.size());
    require<DataError>(said == "little", file.name, ": written by a machine of byte order '", shown(said), "'");
  }
  constexpr std::uint64_t kOfAnyPickle = 1 << 26;
  require_inflation(text(file.name, ": '", shown(name), "'"), entries.at(name).size, entries.at(name).stored,
                    kOfAnyPickle);
  const FileBytes pickled = zip_contents(file, name, entries.at(name), true);
  pickle::Arena arena;
  std::size_t at = 0;
  const auto find = [&](const pickle::StorageRef& storage) -> Storage {
    const auto entry = entries.find(text(folder, "data/", storage.key));
    if (entry == entries.end()) return nullptr;
    return [file, name = entry->first, entry = entry->second] { return zip_contents(file, name, entry); };
  };
  return tensors_of(pickle::unpickle(pickled, at, arena), file, pickled.bytes.size(), find);
}

/// A legacy file consists of pickles of a magic number, a version, the machine, the object and the storages' keys, and
/// then of the number of elements and the elements of each storage.
TensorSource open_legacy(const FileBytes& file) {
  pickle::Arena arena;
  std::size_t at = 0;
  const auto next = [&]() -> const pickle::Value& { return pickle::unpickle(file, at, arena); };
  next();  // the magic number, which is_pytorch_legacy() has checked
  const auto* const version = next().as<std::int64_t>();
  require<DataError>(version && *version == kLegacyProtocol, file.name, ": not of PyTorch's protocol ",
                     kLegacyProtocol);
  next();
  const pickle::Value& root = next();
  const auto* const keys = next().as<pickle::List>();
  require<DataError>(keys != nullptr, file.name, ": the list of storages is missing");

  // The element type of a storage, and so its size, is known from the tensors in it.
  std::map<std::string_view, std::size_t> element_sizes;
  Metadata ignored;
  const std::size_t pickled = at;
  pickle::flatten(root, file.name, pickled, ignored, [&](const std::string&, const pickle::Value& value) {
    if (const auto* const tensor = value.as<Tensor>())
      element_sizes.emplace(tensor->storage.key, tensor->storage.other   ? tensor->storage.other->bytes
                                                 : tensor->storage.typed ? size_of(tensor->storage.dtype)
                                                                         : 1);
  });
  std::map<std::string, FileBytes, std::less<>> storages;
  ByteReader in(file, "storages", at);
  for (const pickle::Value* entry : *keys) {
    const auto* const key = entry->as<pickle::Text>();
    if (!key) in.wrong("a storage has no name");
    const auto size = element_sizes.find(key->text);
    if (size == element_sizes.end()) in.wrong("storage '", shown(key->text), "' belongs to no tensor");
    const auto count = in.number<std::uint64_t>();
    if (count > in.left() / size->second) in.wrong("storage '", shown(key->text), "' is cut off");
    storages.try_emplace(
        std::string(key->text),
        FileBytes{in.take(count * size->second), text(file.name, ": storage '", shown(key->text), "'"), file.owner});
  }
  return tensors_of(root, file, pickled, [&](const pickle::StorageRef& storage) -> Storage {
    const auto found = storages.find(storage.key);
    if (found == storages.end()) return nullptr;
    return [bytes = found->second] { return bytes; };
  });
}

}  // namespace

bool is_pytorch_zip(const FileBytes& file) { return !pickle_name(read_zip(file)).empty(); }

// The protocol does not matter: the magic number is a few bytes after the beginning.
bool is_pytorch_legacy(std::span<const std::byte> bytes) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 32));
  return head.starts_with('\x80') && head.find(kMagic) != std::string_view::npos;
}

TensorSource open_pytorch(const FileBytes& file) { return is_zip(file.bytes) ? open_zip(file) : open_legacy(file); }

}  // namespace kiln
