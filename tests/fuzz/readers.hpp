// Every reader of Kiln's: what it takes, as small sound files, and what is done with a file that it takes. The fuzzers damage
// the files, and tests of shortage take the memory away.
#pragma once
#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/random.hpp"

namespace kiln::test {

using FileContents = std::vector<std::byte>;
using Files = std::vector<FileContents>;

struct Reader {
  std::string_view name;  // "gguf", of which the fuzzer's test is named
  Files (*sound)();
  /// Reads all that there is, and does with it what a user would. Throws an Error for a file that is refused; what is wrong
  /// otherwise it tells by std::logic_error.
  void (*read)(std::span<const std::byte> file);
  /// A change that leaves the structure whole, to reach what lies behind it; null where bytes are all that there is to
  /// change.
  void (*change)(FileContents& file, Random& random) = nullptr;
  /// Makes checksums and lengths right again, so that what lies behind them is reached.
  void (*mend)(FileContents& file) = nullptr;
  bool text = false;  // changes of bytes are those of letters
};

// By library, each in a file of its own.
std::span<const Reader> store_readers();
std::span<const Reader> config_readers();
std::span<const Reader> data_readers();
std::span<const Reader> table_readers();
std::span<const Reader> onnx_readers();
std::span<const Reader> train_readers();

inline FileContents contents_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
inline std::string_view text_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

/// Where a reader wants a file on the disk: `file` there, in a folder of this process that goes with it. The path.
std::string on_disk(std::string_view name, std::span<const std::byte> file);

/// std::logic_error unless it holds.
void expect(bool holds, const char* what);

/// A call of a public function: what it throws is an Error, or else this throws std::logic_error.
template <class F>
decltype(auto) door(F&& call) {
  try {
    return call();
  } catch (const Error&) { throw; } catch (const std::bad_alloc&) {
    throw std::logic_error("std::bad_alloc leaves a public function");
  } catch (const std::length_error&) { throw std::logic_error("std::length_error leaves a public function"); }
}

/// A file that may be read in several ways, of which one must come through.
class Ways {
 public:
  template <class F>
  void take(F&& way) {
    try {
      way();
      taken_ = true;
    } catch (const Error& error) {
      // A lack of memory before all else, as it is no word on the file.
      const bool is_shortage = error.kind() == ErrorKind::Memory;
      if (!refusal_ || is_shortage) refusal_ = std::current_exception();
    }
  }
  /// Throws what one of them threw where none came through.
  void finish() const {
    if (!taken_ && refusal_) std::rethrow_exception(refusal_);
  }
  /// Throws what any threw.
  void finish_all() const {
    if (refusal_) std::rethrow_exception(refusal_);
  }

 private:
  bool taken_ = false;
  std::exception_ptr refusal_;
};

/// Looks at every byte.
void look_at(std::span<const std::byte> bytes);

}  // namespace kiln::test
