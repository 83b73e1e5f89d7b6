#include "kiln/store/numpy/npy_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/byte_reader.hpp"

namespace kiln {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlign = 64;

// These are in the order of DType; NumPy has no bfloat16.
constexpr std::array<std::string_view, kDTypeCount> kCodes = {"f8", "f4", "f2", "",   "i8", "i4", "i2",
                                                              "i1", "u8", "u4", "u2", "u1", "b1"};

/// Parses {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, and nothing else of Python.
class Literal {
 public:
  Literal(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  bool consume(char mark) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    if (at_ == text_.size() || text_[at_] != mark) return false;
    ++at_;
    return true;
  }
  void expect(char mark) {
    if (!consume(mark)) wrong("expected '", mark, "'");
  }
  /// Skips a list in brackets, and the lists nested in it.
  void skip_list() {
    int depth = 0;
    do {
      if (at_ == text_.size()) wrong("a list without an end");
      const char letter = text_[at_];
      if (letter == '\'' || letter == '"') {
        string();
        continue;
      }
      depth += (letter == '[' || letter == '(') - (letter == ']' || letter == ')');
      ++at_;
    } while (depth > 0);
  }
  std::string_view string() {
    const char quote = consume('"') ? '"' : '\'';
    if (quote == '\'') expect(quote);
    const std::size_t end = text_.find(quote, at_);
    if (end == text_.npos) wrong("a string without an end");
    const auto found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }
  bool boolean() {
    consume(' ');
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    wrong("expected True or False");
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!consume(')')) {
      std::int64_t size = 0;
      consume(' ');
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) wrong("expected a size");
      at_ = static_cast<std::size_t>(end - text_.data());
      if (shape.size() == kMaxRank) wrong("more than ", kMaxRank, " dimensions");
      shape.push_back(size);
      consume('L');  // a suffix of Python 2
      if (!consume(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }
  std::size_t at() const { return at_; }
  bool at_list() {
    if (!consume('[')) return false;
    --at_;
    return true;
  }
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail<DataError>(file_, ": header, byte ", at_, ": ", parts...);
  }

 private:
  std::string_view text_, file_;
  std::size_t at_ = 0;
};

void read_descr(Literal& in, NpyHeader& header) {
  if (in.at_list()) {
    in.skip_list();
    header.unread = "has elements that are structures, which are no numbers";
    return;
  }
  const std::string_view descr = in.string();
  const std::string_view code = descr.substr(std::min<std::size_t>(descr.size(), 1));
  const auto found = std::find(kCodes.begin(), kCodes.end(), code);
  const bool order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  if (!order || code.empty() || found == kCodes.end()) {
    header.unread =
        text("has elements of type '", shown(descr), "'", code.starts_with('O') ? ", which are pickled objects" : "",
             ": Kiln reads real numbers and booleans");
    return;
  }
  header.dtype = static_cast<DType>(found - kCodes.begin());
  header.big_endian = descr[0] == '>';
}

}  // namespace

NpyHeader read_npy_header(const FileBytes& file, std::uint64_t size) {
  ByteReader in(file, "header");
  if (in.text(std::min<std::size_t>(kMagic.size(), in.left())) != kMagic)
    fail<DataError>(file.name, ": not an array in NumPy's format");
  const auto major = in.number<std::uint8_t>();
  in.number<std::uint8_t>();
  if (major < 1 || major > 3) in.wrong("version ", int{major}, "; Kiln knows 1 to 3");
  const std::uint64_t length = major == 1 ? in.number<std::uint16_t>() : in.number<std::uint32_t>();
  if (length > kLongestNpyHeader - in.at())
    in.wrong("a header of ", length, " bytes; Kiln reads ", kLongestNpyHeader, " at most");
  NpyHeader header;
  Literal literal(in.text(length), file.name);
  header.data_begin = in.at();
  bool descr = false, order = false, shape = false;
  literal.expect('{');
  while (!literal.consume('}')) {
    const std::string_view key = literal.string();
    literal.expect(':');
    if (key == "descr") read_descr(literal, header), descr = true;
    else if (key == "fortran_order") header.fortran_order = literal.boolean(), order = true;
    else if (key == "shape") header.shape = literal.tuple(), shape = true;
    else literal.wrong("the unknown key '", shown(key), "'");
    if (!literal.consume(',')) {
      literal.expect('}');
      break;
    }
  }
  if (!descr || !order || !shape) literal.wrong("'descr', 'fortran_order' or 'shape' is missing");
  if (!header.unread.empty()) return header;
  const std::int64_t bytes = checked_bytes(file.name, "array", header.shape, header.dtype);
  require<DataError>(static_cast<std::uint64_t>(bytes) == size - header.data_begin, file.name, ": ", name(header.dtype),
                     " ", header.shape, " takes ", bytes, " bytes, the file has ", size - header.data_begin);
  return header;
}

std::string npy_header(const Shape& shape, DType dtype) {
  const std::string_view code = kCodes[static_cast<std::size_t>(dtype)];
  std::string text =
      kiln::text("{'descr': '", size_of(dtype) == 1 ? '|' : '<', code, "', 'fortran_order': False, 'shape': (");
  for (int i = 0; i < shape.size(); ++i) text += kiln::text(i ? ", " : "", shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  const std::size_t before = kMagic.size() + 4;
  text.resize((before + text.size() + 1 + kAlign - 1) / kAlign * kAlign - before - 1, ' ');
  text += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  append_number(header, static_cast<std::uint16_t>(text.size()));
  return header + text;
}

}  // namespace kiln
