// Writes a table for sqlite_check.py.
#include <cstdio>
#include <exception>

#include "kiln/data/table/sqlite_writer.hpp"

namespace {
enum class Kind { Cat, Dog };
struct Row {
  std::int64_t label = 0;
  double weight = 0;
  std::string title;
  std::vector<std::uint8_t> jpeg;
  Kind kind = Kind::Cat;
  std::optional<bool> seen;
};
}  // namespace

int main(int count, char** arguments) try {
  if (count != 2) return 2;
  kiln::write_sqlite(kiln::in_memory(std::vector<Row>{{3, 0.1, "a \"cat\" \xc3\xa9", {255, 0}, Kind::Cat, true},
                                                      {-7, -1e300, "", {}, Kind::Dog, std::nullopt}}),
                     arguments[1], "it\"ems");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
