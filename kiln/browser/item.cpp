#include "kiln/browser/item.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kiln/browser/handles.hpp"
#include "kiln/core/size.hpp"

namespace kiln::browser {
namespace {

/// The first byte of an item, as codec.js has them. All numbers that follow are float64, little endian.
enum class Tag : std::uint8_t {
  Null,
  False,
  True,
  Number,  // its value
  Text,    // the number of bytes, UTF-8
  Tensor,  // a handle; from C++: also the element type (Text) and a List of the sizes
  Data,    // the element type (Text), a List of the sizes, an address and the number of bytes
  Object,  // a handle; from C++: also the type (Text)
  Callback,
  List,    // the count, items
  Record,  // the count; a Text and an item each
};
constexpr int kDepth = 64;
constexpr double kExact = 9007199254740992.0;  // 2^53: JavaScript's numbers are no integers beyond it

static_assert(std::endian::native == std::endian::little && sizeof(double) == 8);

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Item item(int depth = 0) {
    if (depth > kDepth) wrong("it nests too deep");
    switch (static_cast<Tag>(take(1)[0])) {
      case Tag::Null: return {};
      case Tag::False: return false;
      case Tag::True: return true;
      case Tag::Number: return number();
      case Tag::Text: return text();
      case Tag::Tensor:
      case Tag::Object: return held(static_cast<Handle>(size()));
      case Tag::Data: return data(depth);
      case Tag::Callback: return Callback(static_cast<int>(size()));
      case Tag::List: return list(depth);
      case Tag::Record: return record(depth);
    }
    wrong("there is no such tag");
  }
  void finish() const {
    if (at_ != bytes_.size()) wrong("bytes follow its end");
  }

 private:
  [[noreturn]] static void wrong(std::string_view why) { fail<DataError>("browser: an argument is damaged: ", why); }

  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size() - at_) wrong("it is cut");
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  double number() {
    double value;
    std::memcpy(&value, take(8).data(), 8);
    return value;
  }
  std::size_t size() {
    const double value = number();
    if (!(value >= 0 && value < kExact)) wrong("a size is none");
    return static_cast<std::size_t>(value);
  }
  std::string text() {
    const auto letters = take(size());
    return {reinterpret_cast<const char*>(letters.data()), letters.size()};
  }
  std::size_t count() {
    const std::size_t items = size();
    if (items > bytes_.size() - at_) wrong("it is cut");  // each takes a byte at least
    return items;
  }
  Item list(int depth) {
    Item::List items(count());
    for (Item& each : items) each = item(depth + 1);
    return items;
  }
  Item record(int depth) {
    Item::Record fields(count());
    for (auto& [name, value] : fields) {
      name = text();
      value = item(depth + 1);
    }
    return fields;
  }
  Item data(int depth) {
    const std::string type = text();
    const Item sizes = item(depth + 1);
    auto* const address = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(number()));
    const std::shared_ptr<void> owner(address, free_block);
    const std::size_t bytes = size();
    Shape shape;
    const auto* const list = std::get_if<Item::List>(&sizes.is);
    if (!list) wrong("its shape is none");
    for (const Item& each : *list) {
      const auto* const dim = std::get_if<double>(&each.is);
      if (!dim) wrong("its shape is none");
      require<ArgumentError>(*dim >= 0 && *dim < kExact && std::floor(*dim) == *dim,
                             "browser: a typed array's shape has the size ", *dim, ": sizes are whole numbers from 0");
      shape.push_back(static_cast<std::int64_t>(*dim));
    }
    for (int i = 0; i < kDTypeCount; ++i)
      if (const auto dtype = static_cast<DType>(i); name(dtype) == type)
        return TensorData::lent(shape, dtype, {address, bytes}, owner);
    fail<DTypeError>("browser: a typed array cannot have elements of type '", type, "'");
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

class Writer {
 public:
  std::vector<std::byte> bytes;

  /// Frees what was made for the reader, whom the bytes do not reach.
  void undo() noexcept {
    for (const Handle handle : handles_) dispose(handle);
    for (void* const block : blocks_) free_block(block);
  }

  void operator()(std::nullptr_t) { tag(Tag::Null); }
  void operator()(bool value) { tag(value ? Tag::True : Tag::False); }
  void operator()(double value) {
    tag(Tag::Number);
    number(value);
  }
  void operator()(const std::string& value) {
    tag(Tag::Text);
    text(value);
  }
  void operator()(const Value& value) {
    tag(Tag::Tensor);
    number(handle_of(value));
    text(name(value.dtype()));
    sizes(value.shape());
  }
  void operator()(const TensorData& data) {
    blocks_.push_back(nullptr);  // so that what is made has its place
    const Block block = new_block(data.bytes().size());
    blocks_.back() = block.data();
    if (!data.bytes().empty()) std::memcpy(block.data(), data.bytes().data(), data.bytes().size());
    tag(Tag::Data);
    text(name(data.dtype()));
    sizes(data.shape());
    number(static_cast<double>(reinterpret_cast<std::uintptr_t>(block.data())));
    number(static_cast<double>(block.size()));
  }
  void operator()(const Object& object) {
    tag(Tag::Object);
    number(handle_of(object));
    text(object.type());
  }
  void operator()(const Callback& callback) {
    tag(Tag::Callback);
    number(callback.number());
  }
  void operator()(const Item::List& items) {
    tag(Tag::List);
    number(static_cast<double>(items.size()));
    for (const Item& item : items) std::visit(*this, item.is);
  }
  void operator()(const Item::Record& fields) {
    tag(Tag::Record);
    number(static_cast<double>(fields.size()));
    for (const auto& [name, item] : fields) {
      text(name);
      std::visit(*this, item.is);
    }
  }

 private:
  Handle handle_of(Item item) {
    handles_.push_back(0);
    return handles_.back() = hold(std::move(item));
  }
  void tag(Tag tag) { bytes.push_back(static_cast<std::byte>(tag)); }
  void raw(const void* from, std::size_t count) {
    const auto* const first = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), first, first + count);
  }
  void number(double value) { raw(&value, sizeof value); }
  void text(std::string_view letters) {
    number(static_cast<double>(letters.size()));
    raw(letters.data(), letters.size());
  }
  void sizes(const Shape& shape) {
    tag(Tag::List);
    number(shape.size());
    for (const std::int64_t dim : shape) (*this)(static_cast<double>(dim));
  }

  std::vector<Handle> handles_;
  std::vector<void*> blocks_;
};

/// What `use` makes of the item's bytes.
template <class Use>
auto written(const Item& item, Use&& use) {
  Writer writer;
  try {
    std::visit(writer, item.is);
    return use(std::move(writer.bytes));
  } catch (...) {
    writer.undo();
    throw;
  }
}

}  // namespace

Item read_item(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Item item = reader.item();
  reader.finish();
  return item;
}

std::vector<std::byte> write_item(const Item& item) {
  return written(item, [](std::vector<std::byte> bytes) { return bytes; });
}

Block write_block(const Item& item) {
  return written(item, [](const std::vector<std::byte>& bytes) {
    const Block block = new_block(bytes.size());
    std::memcpy(block.data(), bytes.data(), bytes.size());
    return block;
  });
}

std::string described(const Item& item) {
  constexpr const char* kNames[] = {"null",          "a truth value", "a number",   "a text", "a tensor",
                                    "a typed array", "an object",     "a function", "a list", "a record"};
  if (const auto* const object = std::get_if<Object>(&item.is)) return text("a ", object->type());
  return kNames[item.is.index()];
}

Block new_block(std::size_t bytes) {
  auto* const address = static_cast<std::byte*>(std::malloc(bytes > 0 ? bytes : 1));
  require<MemoryError>(address != nullptr, "browser: ", bytes, " bytes do not fit into the memory of this page");
  return {address, bytes};
}

void free_block(void* address) noexcept { std::free(address); }

}  // namespace kiln::browser
