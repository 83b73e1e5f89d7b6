#include "kiln/compile/source.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "kiln/compile/arena.hpp"
#include "kiln/compile/literal.hpp"
#include "kiln/compile/names.hpp"
#include "kiln/compile/print_loop.hpp"
#include "kiln/compile/tile.hpp"
#include "kiln/ops/expression/convert.hpp"

namespace kiln::compile {
namespace {

using Place = Buffer::Place;

std::string stored_type(DType dtype) { return std::string(expr::stored_type(expr::kC, dtype)); }

/// What stands around every program's functions.
constexpr std::string_view kHelpers =
    "#if defined(__GNUC__) || defined(_MSC_VER)\n#define KILN_RESTRICT __restrict\n#else\n#define "
    "KILN_RESTRICT\n#endif\n"
    "#ifdef __GNUC__\n#define KILN_MAY_ALIAS __attribute__((may_alias))\n#else\n#define KILN_MAY_ALIAS\n#endif\n"
    "/* The first and the end of the steps i at which base + i * step lies within [0, size). */\n"
    "KILN_DEVICE int kiln_from(int base, int step, int least) {\n"
    "  const int i = base < 0 ? (-base + step - 1) / step : 0;\n  return i > least ? i : least;\n}\n"
    "KILN_DEVICE int kiln_to(int base, int step, int size, int most) {\n"
    "  const int i = base < size ? (size - 1 - base) / step + 1 : 0;\n  return i < most ? i : most;\n}\n";

class SourcePrinter {
 public:
  SourcePrinter(const Program& program, const Names& names, const Target& target)
      : program_(program), names_(names), target_(target), printer_(expr::kC) {}

  SourceText print() {
    const std::string run = calls();  // prints the functions, and what they call
    SourceText out;
    out.header = header();
    out.source =
        text("/* Compiled by Kiln; ", names_.model, ".h says how it is called. C11, and C++17 as well. */\n",
             "#include \"", names_.model, ".h\"\n\n", expr::kC.preamble, kHelpers, memory_types(),
             target_.tiles ? kVectors : "", target_.tiles && has_halves() ? kVectorsOfHalves : "", printer_.library(),
             "\n", constants(), arena(), "\n", functions_, signature(), " {\n", run, "  return 0;\n}\n");
    out.functions = static_cast<std::int64_t>(known_.size());
    return out;
  }

 private:
  std::string macro(std::string_view end) const { return upper(names_.model) + "_" + std::string(end); }

  bool has_halves() const {
    return std::ranges::any_of(program_.buffers, [](const Buffer& buffer) { return buffer.dtype == DType::F16; });
  }

  // ---- the header ----
  std::string signature() const {
    std::string list;
    for (std::size_t i = 0; i < names_.inputs.size(); ++i)
      list += text(list.empty() ? "" : ", ", "const ", stored_type(program_.inputs[i].dtype), "* ", names_.inputs[i]);
    for (std::size_t i = 0; i < names_.outputs.size(); ++i)
      list += text(list.empty() ? "" : ", ", stored_type(program_.outputs[i].dtype), "* ", names_.outputs[i]);
    return text("int ", names_.model, "_run(", list, ")");
  }
  std::string header() const {
    const std::string guard = macro("H");
    std::string out =
        text("/* A program compiled by Kiln, for ", target_.what, ". Compile ", names_.model, ".c beside it:\n     ",
             target_.compiler, " -c ", names_.model, ".c */\n#ifndef ", guard, "\n#define ", guard,
             "\n\n/* Bytes of static memory that ", names_.model, "_run works in, and bytes of constants. */\n#define ",
             macro("ARENA_BYTES"), " ", program_.arena_bytes, "\n#define ", macro("CONSTANT_BYTES"), " ",
             program_.constant_bytes(), "\n/* Elements of inputs and outputs. */\n");
    std::string about;
    const auto add = [&](const std::string& name, const Desc& desc) {
      out += text("#define ", macro(upper(name)), "_COUNT ", numel(desc.shape), "\n");
      about += text("     ", name, ": ", desc.dtype, " ", desc.shape, "\n");
    };
    for (std::size_t i = 0; i < names_.inputs.size(); ++i) add(names_.inputs[i], program_.inputs[i]);
    for (std::size_t i = 0; i < names_.outputs.size(); ++i) add(names_.outputs[i], program_.outputs[i]);
    return text(
        out, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n/* Tensors in row-major order, none of which overlaps",
        " another:\n", about,
        "   Returns 0, or the number of the step that met an index out of range; outputs are then not complete.\n",
        "   It works in static memory: one call at a time. */\n", signature(),
        ";\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
  }

  // ---- data ----
  std::string constants() {
    constexpr std::int64_t kALine = 12;
    std::string out;
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      if (buffer.place != Place::Constant || buffer.merged) continue;
      out += text("static const ", stored_type(buffer.dtype), " kiln_constant_", b, "[",
                  std::max<std::int64_t>(buffer.count, 1), "] = {");
      visit_dtype(buffer.dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        std::int64_t i = 0;
        for (const T& element : buffer.data.as<T>()) {
          out += i++ % kALine == 0 ? "\n  " : " ";
          if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>)
            out += text(std::bit_cast<std::uint16_t>(element));
          else out += literal(printer_, Scalar(element), buffer.dtype);
          out += ',';
        }
        if (i == 0) out += "0";
      });
      out += "\n};\n";
    }
    return out;
  }
  /// Types through which memory is read that other types were written to.
  std::string memory_types() const {
    std::map<std::string, std::string> types;
    for (const Buffer& buffer : program_.buffers) types[memory_type(buffer.dtype)] = stored_type(buffer.dtype);
    std::string out;
    for (const auto& [name, type] : types) out += text("typedef ", type, " KILN_MAY_ALIAS ", name, ";\n");
    return out;
  }
  std::string arena() const {
    if (program_.arena_bytes == 0) return "";
    return text("static union {\n  double alignment;\n  long long alignment_of_integers;\n  unsigned char bytes[",
                macro("ARENA_BYTES"), "];\n} kiln_arena;\n");
  }

  // ---- calls ----
  std::string argument(const Access& access, bool written) const {
    const Buffer& buffer = program_[access.buffer];
    const std::string offset = access.offset > 0 ? text(" + ", access.offset) : "";
    switch (buffer.place) {
      case Place::Input: return names_.inputs[static_cast<std::size_t>(buffer.position)] + offset;
      case Place::Output: return names_.outputs[static_cast<std::size_t>(buffer.position)] + offset;
      case Place::Constant: return text("kiln_constant_", access.buffer, offset);
      case Place::Arena: break;
    }
    return text("(", written ? "" : "const ", memory_type(buffer.dtype), "*)(", written ? "" : "const ",
                "void*)(kiln_arena.bytes + ", buffer.offset, ")", offset);
  }
  std::string calls() {
    const std::vector<Lifetime> lives = lifetimes(program_);
    std::string out;
    for (std::size_t i = 0; i < names_.inputs.size(); ++i)  // what no loop reads is a parameter all the same
      if (lives[static_cast<std::size_t>(program_.input_buffers[i])].first < 0)
        out += text("  (void)", names_.inputs[i], ";\n");
    for (std::size_t i = 0; i < program_.loops.size(); ++i) {
      const Loop& loop = program_.loops[i];
      const LoopText loop_text = printed(program_, loop, printer_);
      const std::string key = text(loop_text.parameters, "\n", loop_text.body);
      const auto [known, fresh] = known_.try_emplace(key, known_.size());
      const std::string name = text("kiln_step_", known->second);
      if (fresh)
        functions_ += text("static ", loop_text.may_fail ? "int " : "void ", name, "(", loop_text.parameters, ") {\n",
                           loop_text.body, "}\n\n");
      std::string list;
      for (const auto& [access, written] : loop_text.arguments)
        list += text(list.empty() ? "" : ", ", argument(access, written));
      out += loop_text.may_fail ? text("  if (", name, "(", list, ")) return ", i + 1, ";")
                                : text("  ", name, "(", list, ");");
      out += text("  /* ", i + 1, ": ", loop.layer, " */\n");
    }
    return out;
  }

  const Program& program_;
  const Names& names_;
  const Target& target_;
  expr::Printer printer_;
  std::map<std::string, std::size_t> known_;
  std::string functions_;
};

}  // namespace

SourceText printed(const Program& program, const Names& names, const Target& target) {
  return SourcePrinter(program, names, target).print();
}

}  // namespace kiln::compile
