// Runs the program of a page of the book and compares what it prints with what the page shows. tools/book.py writes a source for
// each page.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::book {

/// A line of a ```text block; the last of an array has no number.
struct Line {
  int number;
  const char* text;
  bool begins_block;
};

/// False, which the compiler cannot see where it is called: what stands under it is compiled and not run.
bool never();

/// Whether a printed line is the expected one, where `...` stands for anything.
bool fits(std::string_view expected, std::string_view printed);

/// Nothing, or a sentence with page, line, what was expected and what was printed.
std::string difference(std::string_view page, const std::vector<Line>& expected, std::string_view printed);

/// Runs a page in an empty folder. Without a program, its code is compiled only.
void check(const char* page, void (*run)(), const Line* expected);

}  // namespace kiln::book
