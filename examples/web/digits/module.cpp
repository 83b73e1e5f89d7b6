#include "examples/web/digits/functions.hpp"

int main() { kiln::browser::offer(digits::functions()); }
