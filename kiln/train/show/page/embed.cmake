# Writes the page's files as a C++ source: cmake -D OUT=... -D HERE=... [-D SCRIPT=... -D STYLE=... -D LICENCE=...] -P
# embed.cmake. Texts are arrays of bytes, since compilers limit the length of a string.
set(source "#include \"kiln/train/show/page.hpp\"\n\nnamespace kiln::page {\nnamespace {\n")
function(embed name)  # and files, which become one text
  set(hex "")
  foreach(file IN LISTS ARGN)
    file(READ "${file}" part HEX)
    string(APPEND hex "${part}")
  endforeach()
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  set(source "${source}constexpr unsigned char ${name}[] = {${bytes}0};\n" PARENT_SCOPE)
endfunction()
embed(kHtml "${HERE}/page.html")
embed(kOwnScript "${HERE}/curves.js" "${HERE}/figures.js" "${HERE}/page.js")
embed(kOwnStyle "${HERE}/page.css")
embed(kLibrary ${SCRIPT})  # empty without dygraphs
embed(kLibraryStyle ${STYLE})
embed(kLicence ${LICENCE})
string(APPEND source "template <std::size_t N>\nstd::string_view view(const unsigned char (&bytes)[N]) {\n"
  "  return {reinterpret_cast<const char*>(bytes), N - 1};\n}\n}  // namespace\n"
  "std::string_view html() { return view(kHtml); }\n"
  "std::string_view script() { return view(kOwnScript); }\n"
  "std::string_view style() { return view(kOwnStyle); }\n"
  "std::string_view library() { return view(kLibrary); }\n"
  "std::string_view library_style() { return view(kLibraryStyle); }\n"
  "std::string_view library_licence() { return view(kLicence); }\n}  // namespace kiln::page\n")
file(WRITE "${OUT}" "${source}")
