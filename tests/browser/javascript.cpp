#include "tests/browser/javascript.hpp"

#include <gtest/gtest.h>

namespace kiln::test {

std::function<bool(int, std::string)> on_callback;

namespace {

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::string item() {
    switch (static_cast<int>(take(1)[0])) {
      case 0: return "null";
      case 1: return "false";
      case 2: return "true";
      case 3: return text(number());
      case 4: return '"' + words() + '"';
      case 5: {
        const double handle = number();
        const std::string dtype = words();
        return text(dtype, ' ', item(), " #", handle);
      }
      case 6: return array();
      case 7: {
        const double handle = number();
        return text(words(), " #", handle);
      }
      case 9: return list();
      case 10: return record();
    }
    ADD_FAILURE() << "a tag that JavaScript does not know";
    return "";
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t count) {
    EXPECT_LE(count, bytes_.size());
    const auto taken = bytes_.first(std::min(count, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  double number() {
    double value = 0;
    std::memcpy(&value, take(8).data(), 8);
    return value;
  }
  std::string words() {
    const auto letters = take(static_cast<std::size_t>(number()));
    return {reinterpret_cast<const char*>(letters.data()), letters.size()};
  }
  std::string list() {
    std::string out = "[";
    for (double left = number(); left > 0; --left) out += item() + (left > 1 ? ", " : "");
    return out + "]";
  }
  std::string record() {
    std::string out = "{";
    for (double left = number(); left > 0; --left) {
      out += words() + ": ";
      out += item() + (left > 1 ? ", " : "");
    }
    return out + "}";
  }
  std::string array() {
    std::string out = words();
    out += item();
    auto* const address = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(number()));
    const auto bytes = static_cast<std::size_t>(number());
    if (out.starts_with("float32"))
      for (std::size_t i = 0; i < bytes / 4; ++i) {
        float element;
        std::memcpy(&element, address + 4 * i, 4);
        out += text(' ', element);
      }
    else out += text(" of ", bytes, " bytes");
    kiln_free(address);
    return out;
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

std::string shown_answer(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  std::string out = reader.item();
  EXPECT_TRUE(reader.at_end());
  return out;
}

std::string called(const std::string& name, const Arguments& arguments) {
  KilnAnswer answer{};
  const int status = kiln_call(name.c_str(), arguments.bytes.data(), arguments.bytes.size(), &answer);
  EXPECT_NE(answer.address, nullptr);
  const std::string out = shown_answer({answer.address, answer.bytes});
  kiln_free(answer.address);
  if (status == 0) return out;
  // {kind: "ShapeError", message: "..."}
  const std::string_view kind = "{kind: \"", message = "\", message: \"";
  EXPECT_TRUE(out.starts_with(kind)) << out;
  const std::size_t middle = out.find(message);
  return out.substr(kind.size(), middle - kind.size()) + ": " +
         out.substr(middle + message.size(), out.size() - middle - message.size() - 2);
}

}  // namespace kiln::test

extern "C" int kiln_call_back(int number, const std::byte* argument, std::size_t bytes) {
  return kiln::test::on_callback(number, kiln::test::shown_answer({argument, bytes})) ? 1 : 0;
}
