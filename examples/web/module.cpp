// Kiln alone, as the package kiln-web has it: what loads and runs models.
int main() {}
