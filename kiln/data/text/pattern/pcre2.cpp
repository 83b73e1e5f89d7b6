// Regular expressions by libpcre2, which is opened with the first one.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/system/shared_library.hpp"
#include "kiln/data/text/pattern/engine.hpp"

namespace kiln::tokens {
namespace {

/// The functions of the library that are used.
struct Pcre2 {
  decltype(&pcre2_compile_8) compile;
  decltype(&pcre2_compile_context_create_8) compile_context_create;
  decltype(&pcre2_compile_context_free_8) compile_context_free;
  decltype(&pcre2_set_newline_8) set_newline;
  decltype(&pcre2_code_free_8) code_free;
  decltype(&pcre2_match_8) match;
  decltype(&pcre2_match_data_create_8) match_data_create;
  decltype(&pcre2_match_data_free_8) match_data_free;
  decltype(&pcre2_get_ovector_pointer_8) get_ovector;
  decltype(&pcre2_match_context_create_8) match_context_create;
  decltype(&pcre2_match_context_free_8) match_context_free;
  decltype(&pcre2_set_match_limit_8) set_match_limit;
  decltype(&pcre2_set_heap_limit_8) set_heap_limit;
  decltype(&pcre2_get_error_message_8) get_error_message;

  std::string problem;  // why it cannot be used; empty if it can

  Pcre2() {
    OptionalLibrary opened("libpcre2", {"libpcre2-8.so.0"}, "libpcre2-8-0");
    opened.find("pcre2_compile_8", compile);
    opened.find("pcre2_compile_context_create_8", compile_context_create);
    opened.find("pcre2_compile_context_free_8", compile_context_free);
    opened.find("pcre2_set_newline_8", set_newline);
    opened.find("pcre2_code_free_8", code_free);
    opened.find("pcre2_match_8", match);
    opened.find("pcre2_match_data_create_8", match_data_create);
    opened.find("pcre2_match_data_free_8", match_data_free);
    opened.find("pcre2_get_ovector_pointer_8", get_ovector);
    opened.find("pcre2_match_context_create_8", match_context_create);
    opened.find("pcre2_match_context_free_8", match_context_free);
    opened.find("pcre2_set_match_limit_8", set_match_limit);
    opened.find("pcre2_set_heap_limit_8", set_heap_limit);
    opened.find("pcre2_get_error_message_8", get_error_message);
    problem = opened.problem();
  }
};
const Pcre2& pcre2() {
  static const Pcre2 opened;
  return opened;
}

struct Free {
  void operator()(pcre2_code_8* code) const { pcre2().code_free(code); }
  void operator()(pcre2_compile_context_8* context) const { pcre2().compile_context_free(context); }
  void operator()(pcre2_match_context_8* context) const { pcre2().match_context_free(context); }
  void operator()(pcre2_match_data_8* data) const { pcre2().match_data_free(data); }
};
template <class T>
std::unique_ptr<T, Free> owned(T* made) {
  require<MemoryError>(made, "tokenizer: no memory for a regular expression");
  return std::unique_ptr<T, Free>(made);
}

std::string message_of(int code) {
  PCRE2_UCHAR8 buffer[256];
  return pcre2().get_error_message(code, buffer, sizeof buffer) < 0 ? text("error ", code)
                                                                    : reinterpret_cast<const char*>(buffer);
}

/// The steps that PCRE2 counts (backtracking points) and the bytes that it may look at: both start small and grow if a
/// match needs more, so that the cost of a pattern is limited before it is spent. PCRE2's compiled code (JIT) would be
/// faster, but counts differently and has its own stack.
constexpr std::uint32_t kSteps = 1000;
constexpr std::size_t kWindow = 512;
constexpr std::uint32_t kHeapKibibytes = 64 * 1024;

class Engine final : public Pattern::Engine {
 public:
  Engine(const View& regex, const std::string& pattern) : place_(regex.place.path), source_(regex.place.source) {
    const auto context = owned(pcre2().compile_context_create(nullptr));
    pcre2().set_newline(context.get(), PCRE2_NEWLINE_LF);
    int error = 0;
    std::size_t offset = 0;
    // Without automatic possession, futile scans are counted as steps.
    code_.reset(pcre2().compile(reinterpret_cast<PCRE2_SPTR8>(pattern.data()), pattern.size(),
                                PCRE2_UTF | PCRE2_NO_AUTO_POSSESS | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                                context.get()));
    if (!code_) regex.refuse("is '", shown(regex.text()), "', which libpcre2 does not take: ", message_of(error));
  }

  std::optional<std::pair<std::size_t, std::size_t>> next(Search& search, std::size_t from) const override {
    const auto data = owned(pcre2().match_data_create(1, nullptr));
    const auto context = owned(pcre2().match_context_create(nullptr));
    pcre2().set_heap_limit(context.get(), kHeapKibibytes);
    const std::string_view text = search.text;
    std::uint32_t steps = kSteps;
    std::size_t window = kWindow;
    const auto spend = [&](std::uint64_t more) {
      if (more > search.steps) give_up(text);
      search.steps -= more;
    };
    while (true) {
      std::size_t end = text.size() - from > window ? from + window : text.size();
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
      pcre2().set_match_limit(context.get(), steps);
      const int found =
          pcre2().match(code_.get(), reinterpret_cast<PCRE2_SPTR8>(text.data()), end, from,
                        PCRE2_NO_UTF_CHECK | (end < text.size() ? PCRE2_PARTIAL_HARD : 0), data.get(), context.get());
      const std::size_t* const place = pcre2().get_ovector(data.get());
      if (found >= 0) return std::pair{place[0], place[1]};
      if (found == PCRE2_ERROR_NOMATCH || (found == PCRE2_ERROR_PARTIAL && place[0] > from)) {
        if (found == PCRE2_ERROR_NOMATCH && end == text.size()) return std::nullopt;
        from = found == PCRE2_ERROR_NOMATCH ? end : place[0];  // no match begins before that
        window = kWindow;
      } else if (found == PCRE2_ERROR_PARTIAL) {
        spend(window *= 4);
      } else if (found == PCRE2_ERROR_MATCHLIMIT) {
        if (steps > 1'000'000'000) give_up(text);
        spend(steps *= 4);
      } else if (found == PCRE2_ERROR_HEAPLIMIT || found == PCRE2_ERROR_DEPTHLIMIT) {
        give_up(text);
      } else {
        require<MemoryError>(found != PCRE2_ERROR_NOMEMORY, "tokenizer: no memory to look for a regular expression");
        fail<DataError>(source_, ": '", place_, "': libpcre2 fails: ", message_of(found));
      }
    }
  }

 private:
  [[noreturn]] void give_up(std::string_view text) const {
    fail<DataError>(source_, ": '", place_, "' takes too many steps on a text of ", text.size(),
                    " bytes: the pattern tries too many ways; cut the text, or mend the pattern");
  }

  std::string place_, source_;
  std::unique_ptr<pcre2_code_8, Free> code_;
};

}  // namespace

std::shared_ptr<const Pattern::Engine> make_engine(const View& regex, const std::string& pattern) {
  if (!pcre2().problem.empty())
    regex.refuse("is a regular expression, and ", pcre2().problem, ", which looks for those");
  return std::make_shared<Engine>(regex, pattern);
}

}  // namespace kiln::tokens
