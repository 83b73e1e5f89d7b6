// Programs, and what they print.
#pragma once
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace kiln {

/// What the command prints; it is to end well.
inline std::string output_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0) << output;
  return output;
}

/// The number behind `before`.
inline double number_after(const std::string& said, const std::string& before) {
  const auto at = said.find(before);
  EXPECT_NE(at, std::string::npos) << said;
  return at == std::string::npos ? 0 : std::stod(said.substr(at + before.size()));
}

}  // namespace kiln
