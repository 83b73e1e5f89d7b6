#include "cli/commands.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string for_bash(std::span<const CompletionEntry> commands) {
  std::string names, cases;
  for (const CompletionEntry& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    cases += text("    ", command.name, ") words='", joined(command.words), command.words.empty() ? "" : " ",
                  joined(command.options), "' ;;\n");
  }
  return text(
      "_kiln() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} words=\n"
      "  case ${COMP_CWORD}:${COMP_WORDS[1]} in\n"
      "    1:*) words='",
      names,
      "' ;;\n"
      "  esac\n"
      "  [[ $COMP_CWORD -gt 1 ]] && case ${COMP_WORDS[1]} in\n",
      cases,
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [[ $word != -* && $COMP_CWORD -gt 1 ]] && COMPREPLY+=($(compgen -f -- \"$word\"))\n"
      "  return 0\n"
      "}\n"
      "complete -o filenames -F _kiln kiln\n");
}

std::string for_fish(std::span<const CompletionEntry> commands) {
  std::string out;
  for (const auto& [name, summary, options, words] : commands) {
    std::string quoted;
    for (const char letter : summary) quoted += letter == '\'' ? std::string("\\'") : std::string(1, letter);
    out += text("complete -c kiln -n __fish_use_subcommand -f -a ", name, " -d '", quoted, "'\n");
    for (const std::string& word : words)
      out += text("complete -c kiln -n '__fish_seen_subcommand_from ", name, "' -a ", word, '\n');
    for (const std::string& option : options)
      out += text("complete -c kiln -n '__fish_seen_subcommand_from ", name, "' -l ", option.substr(2), '\n');
  }
  return out;
}

}  // namespace

std::string completion(const std::string& shell, std::span<const CompletionEntry> commands) {
  if (shell == "bash") return for_bash(commands);
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + for_bash(commands);
  if (shell == "fish") return for_fish(commands);
  fail<ArgumentError>("completion: no script for '", shown(shell), "': there are bash, zsh and fish");
}

}  // namespace kiln::cli
