// The same for programs, of which each has a main().
int main() {}
