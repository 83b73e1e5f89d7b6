#include "kiln/compile/tile.hpp"

#include <algorithm>

#include "kiln/core/text.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::compile {

namespace {

/// The longest vectors, so that a row holds one at least.
constexpr std::int64_t kMostLanes = 16;
/// Vectors of a row: two for a tile of several rows, more where a row is alone.
constexpr int kVectorsOfRows = 2, kVectorsAlone = 4;
/// Sums that are no longer may be made without rows: what is read is little, and in the cache.
constexpr std::int64_t kShortSum = 64;
/// Steps of a sum for which a block of vectors stays in the first cache.
constexpr std::int64_t kStepsInCache = 256;

std::size_t at(int d) { return static_cast<std::size_t>(d); }

/// Whether the value is a product of two operands, which may be kept as halves.
bool is_product(const Program& program, const Loop& loop) {
  const Expression& value = loop.value;
  if (value.steps.size() != 1 || value.value.from != op::ProgramOperand::Result) return false;
  const auto* const binary = std::get_if<op::Binary>(&value.steps[0].op);
  if (!binary || binary->fn != op::BinaryFn::Mul || value.steps[0].dtype != DType::F32) return false;
  for (const op::ProgramOperand operand : {value.steps[0].in[0], value.steps[0].in[1]})
    if (operand.from != op::ProgramOperand::Input) return false;
  return std::ranges::all_of(value.in, [&](const Operand& operand) {
    return !operand.is_number && operand.dtype == DType::F32 && operand.access.index < 0 &&
           (program[operand.access.buffer].dtype == DType::F32 || program[operand.access.buffer].dtype == DType::F16);
  });
}

/// The number of rows of a tile: what leaves least over, and the larger of equals.
int rows_for(std::int64_t size) {
  int best = 1;
  double least = 1e9;
  for (const int rows : {6, 5, 4, 3, 2}) {
    if (rows > size) continue;
    const double tiles = static_cast<double>((size + rows - 1) / rows);
    const double cost = tiles * std::max(rows, 4);  // the latency of a sum's step hides four
    if (cost < least) {
      least = cost;
      best = rows;
    }
  }
  return best;
}

class TilePrinter {
 public:
  TilePrinter(const Loop& loop, const Tiling& tiling, const TileText& print)
      : loop_(loop), tiling_(tiling), print_(print) {}

  std::string print() {
    std::string outer;
    int level = 0;
    for (int d = 0; d < loop_.kept; ++d)
      if (d != tiling_.along && d != tiling_.across) outer += head(d, level++);
    const int vectors = tiling_.across < 0 ? kVectorsAlone : kVectorsOfRows;
    const std::string v = text("i", tiling_.along);
    const std::int64_t size = loop_.sizes[at(tiling_.along)];
    std::string out =
        text(gathers() ? "  int lane;\n" : "", cut() >= 0 ? "  int part;\n" : "", "  int block;\n", outer, in(level),
             "for (block = 0; block + ", vectors, " * KILN_LANES <= ", size, "; block += ", vectors,
             " * KILN_LANES) {\n", in(level + 1), v, " = block;\n", rows(vectors, level + 1), in(level), "}\n");
    // The last vector may begin inside the one before it: what both hold is computed twice.
    out += text(in(level), "for (; block < ", size, "; block += KILN_LANES) {\n", in(level + 1), v,
                " = block + KILN_LANES > ", size, " ? ", size, " - KILN_LANES : block;\n", rows(1, level + 1),
                in(level), "}\n");
    while (level-- > 0) out += in(level) + "}\n";
    return out + (gathers() ? "  (void)lane;\n" : "");
  }

 private:
  static std::string in(int level) { return std::string(at(2 * level + 2), ' '); }
  std::string head(int d, int level) const {
    return text(in(level), "for (i", d, " = 0; i", d, " < ", loop_.sizes[at(d)], "; ++i", d, ") {\n");
  }
  int depth() const { return static_cast<int>(loop_.sizes.size()); }
  bool gathers() const {
    return std::ranges::any_of(loop_.value.steps[0].in, [&](op::ProgramOperand operand) {
      const std::int64_t stride = loop_.value.in[operand.index].access.strides[at(tiling_.along)];
      return print_.is_half(operand.index) || (stride != 0 && stride != 1);
    });
  }
  int cut() const { return loop_.sizes[at(loop_.kept)] > kStepsInCache ? loop_.kept : -1; }

  /// All rows of a block of vectors, for a part of the sum after the other.
  std::string rows(int vectors, int level) {
    const int d = cut();
    std::string out;
    if (d >= 0) {
      out += text(in(level), "for (part = 0; part < ", loop_.sizes[at(d)], "; part += ", kStepsInCache, ") {\n");
      ++level;
    }
    if (tiling_.across < 0) {
      out += tile(1, vectors, level);
    } else {
      const std::int64_t size = loop_.sizes[at(tiling_.across)], left = size % tiling_.rows;
      const std::string i = text("i", tiling_.across);
      if (size >= tiling_.rows)
        out += text(in(level), "for (", i, " = 0; ", i, " < ", size - left, "; ", i, " += ", tiling_.rows, ") {\n",
                    tile(tiling_.rows, vectors, level + 1), in(level), "}\n");
      if (left > 0) out += text(in(level), i, " = ", size - left, ";\n", tile(static_cast<int>(left), vectors, level));
    }
    if (d >= 0) out += in(level - 1) + "}\n";
    return out;
  }

  /// The place of an operand's element in a row, at a vector of the block.
  std::string place(const Access& access, int row, int vector) const {
    std::int64_t offset = std::min<std::int64_t>(access.offset, 0);
    if (tiling_.across >= 0) offset += row * access.strides[at(tiling_.across)];
    const std::int64_t lanes = vector * access.strides[at(tiling_.along)];
    return text(print_.place(access.strides, offset), lanes == 0 ? "" : text(" + ", lanes, " * KILN_LANES"));
  }
  static std::string sum(int row, int vector) { return text("sum", row, "_", vector); }
  static std::string memory(std::string_view name, const std::string& place, bool written) {
    return text("*(", written ? "" : "const ", "kiln_vector_memory*)(", name, " + ", place, ")");
  }

  std::string tile(int rows, int vectors, int level) const {
    std::string out = text(in(level), "{\n");
    const std::string inside = in(level + 1);
    const Access& to = loop_.out[0];
    for (int row = 0; row < rows; ++row)
      for (int v = 0; v < vectors; ++v) {
        const std::string begin = start(row, v), before = memory("out0", place(to, row, v), false);
        out += text(inside, "kiln_vector ", sum(row, v), " = {0};\n");
        if (cut() >= 0) out += text(inside, "if (part > 0) ", sum(row, v), " = ", before, ";\n");
        if (!begin.empty()) out += text(inside, cut() >= 0 ? "else " : "", sum(row, v), " += ", begin, ";\n");
      }
    out += unpacked(rows, inside);
    int within = level + 1;
    for (int d = loop_.kept; d < depth(); ++d, ++within) {
      if (d == cut())
        out += text(in(within), "const int end = part + ", kStepsInCache, " < ", loop_.sizes[at(d)], " ? part + ",
                    kStepsInCache, " : ", loop_.sizes[at(d)], ";\n", in(within), "for (i", d, " = part; i", d,
                    " < end; ++i", d, ") {\n");
      else out += head(d, within);
    }
    out += steps(rows, vectors, in(within));
    for (int d = depth(); d-- > loop_.kept;) out += text(in(--within), "}\n");
    for (int row = 0; row < rows; ++row)
      for (int v = 0; v < vectors; ++v)
        out += text(inside, memory("out0", place(to, row, v), true), " = ", sum(row, v), ";\n");
    return out + in(level) + "}\n";
  }
  /// The sum begins with this if it is not 0: a bias, which is a float.
  std::string start(int row, int vector) const {
    if (loop_.start < 0) return "";
    const Access& access = loop_.value.in[at(loop_.start)].access;
    const std::string name = text("in", loop_.start), at_place = place(access, row, vector);
    if (access.strides[at(tiling_.along)] == 0) return text(name, "[", at_place, "]");
    return memory(name, at_place, false);
  }
  /// Whether the halves of a tile's rows lie side by side in the only dimension of the sum: they become floats before it, many
  /// at a time.
  bool is_unpacked(int operand) const {
    const Counts& strides = loop_.value.in[at(operand)].access.strides;
    return print_.is_half(operand) && tiling_.across >= 0 && strides[at(tiling_.across)] != 0 &&
           strides[at(tiling_.along)] == 0 && depth() == loop_.kept + 1 && strides[at(loop_.kept)] == 1;
  }
  static std::string row_of(int operand, int row) { return text("row", operand, "_", row); }
  std::string unpacked(int rows, const std::string& inside) const {
    std::string out;
    const std::int64_t size = loop_.sizes[at(loop_.kept)];
    const std::string i = text("i", loop_.kept), from = cut() >= 0 ? "part" : "0",
                      to = cut() < 0 ? text(size)
                                     : text("(part + ", kStepsInCache, " < ", size, " ? part + ", kStepsInCache, " : ",
                                            size, ")");
    const op::ProgramStep& product = loop_.value.steps[0];
    for (const op::ProgramOperand each : {product.in[0], product.in[1]}) {
      if (!is_unpacked(each.index)) continue;
      for (int row = 0; row < rows; ++row) {
        const std::string name = row_of(each.index, row), place_of = place(loop_.value.in[each.index].access, row, 0);
        out += text(inside, "float ", name, "[", std::min(size, kStepsInCache), "];\n");
        out += text(inside, "for (", i, " = ", from, "; ", i, " + KILN_LANES <= ", to, "; ", i, " += KILN_LANES) {\n",
                    inside, "  kiln_vector part_of_row = {0};\n", inside, "  KILN_HALVES(part_of_row, in", each.index,
                    " + ", place_of, ", ", number(each.index, place_of + " + lane"), ");\n", inside, "  ",
                    memory(name, text(i, " - ", from), true), " = part_of_row;\n", inside, "}\n");
        out += text(inside, "for (; ", i, " < ", to, "; ++", i, ") ", name, "[", i, " - ", from,
                    "] = ", number(each.index, place_of), ";\n");
      }
    }
    return out;
  }
  /// An operand's element as a float.
  std::string number(int operand, const std::string& at_place) const {
    const std::string bits = text("in", operand, "[", at_place, "]"), value = print_.loaded(operand, bits);
    return print_.is_half(operand) ? text("KILN_HALF(", bits, ", ", value, ")") : value;
  }
  /// A step of all sums of the tile.
  std::string steps(int rows, int vectors, const std::string& inside) const {
    const op::ProgramStep& product = loop_.value.steps[0];
    std::string out;
    const auto name = [&](int operand, int row, int v) {
      const Access& access = loop_.value.in[at(operand)].access;
      const bool of_row = tiling_.across >= 0 && access.strides[at(tiling_.across)] != 0;
      const bool of_vector = access.strides[at(tiling_.along)] != 0;
      return text("a", operand, of_row ? text("_", row) : "", of_vector ? text("v", v) : "");
    };
    std::string known;
    for (int row = 0; row < rows; ++row)
      for (int v = 0; v < vectors; ++v) {
        for (const op::ProgramOperand each : {product.in[0], product.in[1]}) {
          const std::string variable = name(each.index, row, v);
          if (known.find(" " + variable + ";") != std::string::npos) continue;
          known += " " + variable + ";";
          out += load(each.index, variable, row, v, inside);
        }
        out += text(inside, sum(row, v), " += ", name(product.in[0].index, row, v), " * ",
                    name(product.in[1].index, row, v), ";\n");
      }
    return out;
  }
  std::string load(int operand, const std::string& variable, int row, int v, const std::string& inside) const {
    const Access& access = loop_.value.in[at(operand)].access;
    const std::string name = text("in", operand), at_place = place(access, row, v);
    const std::int64_t stride = access.strides[at(tiling_.along)];
    if (stride == 0) {
      const std::string element = is_unpacked(operand)
                                      ? text(row_of(operand, row), "[i", loop_.kept, cut() >= 0 ? " - part]" : "]")
                                      : number(operand, at_place);
      return text(inside, "const float ", variable, " = ", element, ";\n");
    }
    if (print_.is_half(operand)) {
      const std::string lane = text(at_place, " + lane", stride == 1 ? "" : text(" * ", stride));
      return text(inside, "kiln_vector ", variable, " = {0};\n", inside,
                  stride == 1 ? "KILN_HALVES(" : "KILN_EACH_LANE(", variable, ", ",
                  stride == 1 ? text(name, " + ", at_place, ", ") : "", number(operand, lane), ");\n");
    }
    if (stride == 1) return text(inside, "const kiln_vector ", variable, " = ", memory(name, at_place, false), ";\n");
    return text(inside, "kiln_vector ", variable, " = {0};\n", inside, stride == 2 ? "KILN_GATHER_2(" : "KILN_GATHER(",
                variable, ", ", name, " + ", at_place, stride == 2 ? "" : text(", ", stride), ");\n");
  }

  const Loop& loop_;
  const Tiling tiling_;
  const TileText& print_;
};

}  // namespace

std::optional<Tiling> tiling(const Program& program, const Loop& loop) {
  if (loop.mode != Mode::Fold || loop.fn != op::ReduceFn::Sum || loop.accumulator != DType::F32) return {};
  if (!loop.guards.empty() || loop.kept == static_cast<int>(loop.sizes.size()) || !is_product(program, loop)) return {};
  const Access& out = loop.out[0];
  if (out.index >= 0 || program[out.buffer].dtype != DType::F32) return {};
  if (std::ranges::any_of(loop.sizes, [](std::int64_t size) { return size == 0; })) return {};
  Tiling tiling;
  for (int d = 0; d < loop.kept; ++d)
    if (out.strides[at(d)] == 1 && loop.sizes[at(d)] >= kMostLanes) tiling.along = d;
  if (tiling.along < 0) return {};
  // Rows share what is read as vectors.
  const auto reads_in_rows = [&](int d) {
    return std::ranges::any_of(loop.value.steps[0].in, [&](op::ProgramOperand operand) {
      const Counts& strides = loop.value.in[operand.index].access.strides;
      return strides[at(tiling.along)] != 0 && strides[at(d)] == 0;
    });
  };
  for (int d = 0; d < loop.kept; ++d)
    if (d != tiling.along && out.strides[at(d)] != 0 && reads_in_rows(d) &&
        (tiling.across < 0 || loop.sizes[at(d)] > loop.sizes[at(tiling.across)]))
      tiling.across = d;
  std::int64_t sum = 1;
  for (int d = loop.kept; d < static_cast<int>(loop.sizes.size()); ++d) sum *= loop.sizes[at(d)];
  const bool reads_halves = program.halves && std::ranges::any_of(loop.value.in, [&](const Operand& operand) {
                              return program[operand.access.buffer].place == Buffer::Place::Constant;
                            });
  if (tiling.across < 0 && sum > kShortSum && !reads_halves) return {};
  if (tiling.across >= 0) tiling.rows = rows_for(loop.sizes[at(tiling.across)]);
  return tiling;
}

std::string printed_tiles(const Loop& loop, const Tiling& tiling, const TileText& text) {
  return TilePrinter(loop, tiling, text).print();
}

}  // namespace kiln::compile
