// Kiln's side of arrow_peers.py: a library that Python opens, whose functions get addresses of streams.
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kiln/data/arrow/export.hpp"
#include "kiln/data/arrow/table.hpp"

namespace {

enum class Kind { Cat, Dog };
struct Inner {
  std::int32_t n = 0;
  std::optional<std::string> word;
};
struct Row {
  std::int64_t id = 0;
  std::uint8_t small = 0;
  float real = 0;
  bool flag = false;
  std::optional<bool> maybe;
  Kind kind = Kind::Cat;
  std::optional<std::string> title;
  std::vector<std::byte> bytes;
  std::optional<Inner> inner;
  std::vector<Inner> list;
  std::optional<std::vector<std::optional<double>>> numbers;
  std::map<std::string, std::int64_t> counts;
};

std::string problem;

template <class F>
int guarded(F&& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    problem = error.what();
    return 1;
  }
}

}  // namespace

extern "C" {

const char* peer_problem() { return problem.c_str(); }

/// Reads the rows, and gives them back in batches of five.
int peer_rows(ArrowArrayStream* from, ArrowArrayStream* to) {
  return guarded([&] { kiln::export_arrow(kiln::arrow_rows<Row>(kiln::ArrowTable(from)), to, 5); });
}

/// Gives a column of numbers back, as a tensor's.
int peer_tensor(ArrowArrayStream* from, const char* column, ArrowSchema* schema, ArrowArray* batch) {
  return guarded([&] { kiln::export_arrow({{column, kiln::ArrowTable(from).tensor(column)}}, schema, batch); });
}
}
