#include "kiln/store/pickle/flatten.hpp"

#include "kiln/core/error/shown.hpp"

namespace kiln::pickle {
namespace {

// A pickle may contain itself, or a list twice that contains a list twice, and so on. A pickle of a few bytes may
// therefore have so many parts and so much text at most; each of its bytes allows a part and kTextOfByte of text more.
constexpr int kDeepest = 64;
constexpr std::size_t kPartsOfAny = 100'000, kTextOfAny = std::size_t{1} << 24, kTextOfByte = 32;

class Flattener {
 public:
  Flattener(std::string_view file, std::size_t bytes, Metadata& metadata,
            FunctionRef<void(const std::string&, const Value&)> tensor)
      : file_(file),
        most_parts_(kPartsOfAny + bytes),
        most_text_(kTextOfAny + kTextOfByte * bytes),
        metadata_(metadata),
        tensor_(tensor) {}

  void visit(const Value& value, const std::string& path, int depth) {
    count(path, depth);
    if (value.as<Tensor>() || value.as<Array>()) return tensor_(path, value);
    const auto* const object = value.as<Object>();
    if (const auto* const dict = object ? &object->attributes : value.as<Dict>()) {
      for (const auto& [key, entry] : *dict) visit(*entry, joined(path, scalar(*key)), depth + 1);
      return;
    }
    const auto* const list = value.as<List>();
    if (list && !is_plain(*list)) {
      for (std::size_t i = 0; i < list->size(); ++i) visit(*(*list)[i], joined(path, text(i)), depth + 1);
      return;
    }
    std::string said = list ? plain_list(*list) : scalar(value);
    text_ += said.size();
    if (!value.as<std::nullptr_t>()) metadata_.insert_or_assign(path, std::move(said));
  }

 private:
  void count(const std::string& path, int depth) {
    require<DataError>(depth <= kDeepest, file_, ": pickle: nested more than ", kDeepest, " deep, or in itself");
    text_ += path.size();
    require<DataError>(++parts_ <= most_parts_, file_, ": pickle: more than ", most_parts_, " parts");
    require<DataError>(text_ <= most_text_, file_, ": pickle: more than ", most_text_, " bytes of text");
  }
  static std::string joined(const std::string& path, const std::string& name) {
    return path.empty() || name.empty() ? path + name : text(path, '.', name);
  }
  static bool is_plain(const List& list) {
    for (const Value* entry : list)
      if (entry->as<List>() || entry->as<Dict>() || entry->as<Tensor>() || entry->as<Object>() || entry->as<Array>())
        return false;
    return true;
  }
  std::string plain_list(const List& list) {
    std::string out = "[";
    for (const Value* entry : list) {
      if (out.size() > 1) out += ", ";
      out += scalar(*entry);
      require<DataError>(text_ + out.size() <= most_text_, file_, ": pickle: more than ", most_text_, " bytes of text");
    }
    return out + "]";
  }
  std::string scalar(const Value& value) {
    if (const auto* const flag = value.as<bool>()) return text(*flag);
    if (const auto* const number = value.as<std::int64_t>()) return text(*number);
    if (const auto* const number = value.as<double>()) return text(*number);
    if (const auto* const words = value.as<Text>()) return std::string(words->text);
    if (const auto* const global = value.as<Global>()) return text(global->module, '.', global->name);
    if (value.as<std::nullptr_t>()) return "None";
    if (value.as<ElementType>()) return "an element type";
    return value.as<Long>() ? "a large number" : "a storage";
  }

  std::string_view file_;
  std::size_t most_parts_, most_text_;
  Metadata& metadata_;
  FunctionRef<void(const std::string&, const Value&)> tensor_;
  std::size_t parts_ = 0, text_ = 0;
};

}  // namespace

void flatten(const Value& value, std::string_view file, std::size_t bytes, Metadata& metadata,
             FunctionRef<void(const std::string&, const Value&)> tensor) {
  Flattener(file, bytes, metadata, tensor).visit(value, {}, 0);
}

}  // namespace kiln::pickle
