# Writes a C++ file that holds the text of others, byte by byte, so that any character and any length will do.
#   cmake -DROOT=<folder that names are relative to> -DLIST=<file with one path a line> -DOUTPUT=<file> -P embed_sources.cmake
file(STRINGS "${LIST}" files)
list(SORT files)
set(arrays "")
set(entries "")
set(number 0)
foreach(file IN LISTS files)
  file(RELATIVE_PATH name "${ROOT}" "${file}")
  file(READ "${file}" text HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," text "${text}")
  # lines of 24 bytes: very long lines are hard on compilers and people
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..)" "\\1\n" text "${text}")
  # the zero at the end makes an empty file an array, too
  string(APPEND arrays "constexpr unsigned char text_${number}[] = {\n${text}0};\n")
  string(APPEND entries "    SourceFile{\"${name}\", {reinterpret_cast<char const*>(text_${number}), sizeof(text_${number}) - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()

set(code "// Written by cmake/embed_sources.cmake.\n#include \"runtime/sources.hpp\"\n\n#include <array>\n\nnamespace myriad::gpu {\nnamespace {\n${arrays}}  // namespace\n\n")
string(APPEND code "std::span<SourceFile const> embedded_sources() {\n  static std::array<SourceFile, ${number}> const files{\n${entries}  };\n  return files;\n}\n\n}  // namespace myriad::gpu\n")
file(WRITE "${OUTPUT}" "${code}")
