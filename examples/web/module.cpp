// Kiln alone, as the package kiln-web has it: what loads and runs models.
#include "kiln/browser/model.hpp"

int main() { kiln::browser::offer(kiln::browser::model_functions()); }
