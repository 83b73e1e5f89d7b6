// A Parquet file's footer as a tree of Thrift's compact protocol, changed and written again; the pages stay.
#include <cstring>
#include <memory>

#include "tests/fuzz/changes.hpp"

namespace kiln::test {
namespace {

// Types of fields: 1 and 2 are the values true and false, 3 to 6 integers, 7 a double, 8 bytes, 9 a list, 12 a struct.
struct Node {
  int type = 12, id = 0;
  std::uint64_t number = 0;  // as the varint stands there
  std::string bytes = {};    // also a double, or a byte
  std::vector<Node> children = {};
  int element = 12;  // of a list
};

/// Cut short where the bytes are no Thrift, as the footers of sound files are.
class Reading {
 public:
  explicit Reading(std::string_view bytes) : rest_(bytes) {}
  bool failed() const { return failed_; }

  Node structure(int depth = 0) {
    Node node;
    for (int id = 0; depth < 16 && !failed_;) {
      const int head = byte();
      if (head == 0) break;
      const int delta = head >> 4;
      id = delta ? id + delta : static_cast<int>(zigzag(varint()));
      Node field = value(head & 15, depth + 1);
      field.id = id;
      node.children.push_back(std::move(field));
    }
    return node;
  }

 private:
  int byte() {
    if (rest_.empty()) return failed_ = true, 0;
    const int value = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const int next = byte();
      value |= static_cast<std::uint64_t>(next & 127) << shift;
      if (next < 128) break;
    }
    return value;
  }
  static std::int64_t zigzag(std::uint64_t value) {
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  std::string taken(std::uint64_t count) {
    if (count > rest_.size()) return failed_ = true, std::string();
    const std::string out(rest_.substr(0, static_cast<std::size_t>(count)));
    rest_.remove_prefix(out.size());
    return out;
  }
  Node value(int type, int depth) {
    if (type == 12) return structure(depth);
    Node node{.type = type};
    if (type == 3) node.bytes = taken(1);
    if (type >= 4 && type <= 6) node.number = varint();
    if (type == 7) node.bytes = taken(8);
    if (type == 8) node.bytes = taken(varint());
    if (type == 9 || type == 10) {
      const int head = byte();
      node.element = head & 15;
      const std::uint64_t count = head >> 4 == 15 ? varint() : static_cast<std::uint64_t>(head >> 4);
      for (std::uint64_t i = 0; i < count && !failed_ && depth < 16; ++i)
        node.children.push_back(node.element <= 2 ? Node{.type = 3, .bytes = taken(1)}
                                                  : value(node.element, depth + 1));
    }
    if (type == 11 || type > 12) failed_ = true;  // maps, of which a footer has none
    return node;
  }

  std::string_view rest_;
  bool failed_ = false;
};

class Writing {
 public:
  std::string take() { return std::move(out_); }

  void structure(const Node& node) {
    for (int id = 0; const Node& field : node.children) {
      const int delta = field.id - id;
      if (delta >= 1 && delta <= 15) out_ += static_cast<char>(delta << 4 | field.type);
      else {
        out_ += static_cast<char>(field.type);
        varint(static_cast<std::uint64_t>(static_cast<std::int64_t>(field.id) * 2));
      }
      id = field.id;
      value(field);
    }
    out_ += '\0';
  }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) out_ += static_cast<char>(value | 128);
    out_ += static_cast<char>(value);
  }
  void value(const Node& node) {
    if (node.type == 12) return structure(node);
    if (node.type >= 4 && node.type <= 6) varint(node.number);
    if (node.type == 8) varint(node.bytes.size());
    if (node.type == 3 || node.type == 7 || node.type == 8) out_ += node.bytes;
    if (node.type == 9 || node.type == 10) {
      out_ += static_cast<char>((node.children.size() < 15 ? node.children.size() : 15) << 4 |
                                static_cast<unsigned>(node.element));
      if (node.children.size() >= 15) varint(node.children.size());
      for (const Node& child : node.children) value(child);
    }
  }
  std::string out_;
};

void gather(Node& node, std::vector<Node*>& all) {
  all.push_back(&node);
  for (Node& child : node.children) gather(child, all);
}

void change(Node& node, Random& random) {
  if (node.type >= 4 && node.type <= 6) {
    const std::int64_t now = static_cast<std::int64_t>(node.number >> 1) ^ -static_cast<std::int64_t>(node.number & 1);
    const std::int64_t next =
        random.below(3) ? extreme(random) : static_cast<std::int64_t>(static_cast<std::uint64_t>(now) + 1);
    node.number = static_cast<std::uint64_t>(next) << 1 ^ static_cast<std::uint64_t>(next >> 63);
  } else if (node.type <= 2) {
    node.type = 3 - node.type;
  } else if (node.type == 8) {
    switch (random.below(3)) {
      case 0: node.bytes.clear(); break;
      case 1: node.bytes += node.bytes; break;
      default: node.bytes += static_cast<char>(random.below(256));
    }
  } else if (!node.children.empty()) {
    const std::size_t at = one_of(node.children.size(), random);
    switch (random.below(3)) {
      case 0: node.children.erase(node.children.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 1:
        if (node.type != 12) node.children.push_back(Node(node.children[at]));
        else node.children[at].id += 1;
        break;
      default: std::swap(node.children[at], node.children[one_of(node.children.size(), random)]);
    }
  }
}

}  // namespace

void change_parquet(FileContents& file, Random& random) {
  constexpr std::size_t kTail = 8;  // the footer's length and "PAR1"
  std::uint32_t length = 0;
  if (file.size() < kTail) return;
  std::memcpy(&length, file.data() + file.size() - kTail, sizeof length);
  if (length > file.size() - kTail) return;
  const std::size_t begin = file.size() - kTail - length;
  Reading reading(text_of(file).substr(begin, length));
  Node footer = reading.structure();
  if (reading.failed()) return;
  std::vector<Node*> all;
  gather(footer, all);
  change(*all[one_of(all.size(), random)], random);
  Writing writing;
  writing.structure(footer);
  const std::string bytes = writing.take();
  const auto now = static_cast<std::uint32_t>(bytes.size());
  const FileContents tail(file.end() - 4, file.end()), written = contents_of(bytes);
  file.resize(begin);
  file.insert(file.end(), written.begin(), written.end());
  file.resize(file.size() + sizeof now);
  std::memcpy(file.data() + file.size() - sizeof now, &now, sizeof now);
  file.insert(file.end(), tail.begin(), tail.end());
}

}  // namespace kiln::test
