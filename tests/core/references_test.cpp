/// Dead code: src declares no function, type or constant that only tests refer to. Delete such a name with its tests.
///
/// The test reads text: a name counts as used if it occurs outside of a declaration in the library, the program, the benchmarks, the
/// examples or a string there (names of kernels). A name shared by two functions is used if one of them is.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace myriad {
namespace {

namespace fs = std::filesystem;

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name(std::string const& token) { return is_of_name(token.front()) && !std::isdigit(static_cast<unsigned char>(token.front())); }

/// Names, numbers and punctuation, without comments; from strings only the names, in quotes.
std::vector<std::string> tokens(std::string_view text) {
  std::vector<std::string> out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    std::string_view const rest = text.substr(i);
    if (!in_string && rest.starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (!in_string && rest.starts_with("/*")) {
      i = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
    } else if (rest.front() == '\\') {
      i += 2;
    } else if (rest.front() == '"') {
      in_string = !in_string;
      ++i;
    } else if (!in_string && rest.front() == '\'') {  // a character
      for (++i; i < text.size() && text[i] != '\''; ++i) i += text[i] == '\\' ? 1 : 0;
      ++i;
    } else if (is_of_name(rest.front())) {
      std::size_t end = i;
      bool const number = std::isdigit(static_cast<unsigned char>(rest.front()));
      while (end < text.size() &&
             (is_of_name(text[end]) || (number && text[end] == '\'' && end + 1 < text.size() && is_of_name(text[end + 1]))))
        ++end;
      if (in_string) out.emplace_back("\"");
      out.emplace_back(text.substr(i, end - i));
      i = end;
    } else {
      if (!in_string && !std::isspace(static_cast<unsigned char>(rest.front()))) out.emplace_back(1, rest.front());
      ++i;
    }
  }
  return out;
}

/// Whether token i is a name in its own declaration: of a function (or of a variable with parentheses), a type that has members, a
/// constant, or in an instantiation.
bool is_declared(std::vector<std::string> const& text, std::size_t i) {
  static std::set<std::string> const no_types{"return", "else", "case",   "new",  "throw", "sizeof", "and",
                                              "or",     "not",  "delete", "goto", "if",    "while"};
  if (i == 0 || i + 1 == text.size()) return false;
  std::string const &before = text[i - 1], &after = text[i + 1];
  if (before == "struct" || before == "class" || before == "enum") return after == "{" || after == ":";
  std::string const& earlier = text[std::max<std::size_t>(i, 2) - 2];
  bool const after_type = (is_name(before) && !no_types.contains(before)) || (before == ">" && earlier != "-") || before == "*" ||
                          (before == "&" && earlier != "&");  // -> and && are operators
  if (after == "(" || (after == "<" && is_name(before))) return after_type;
  bool constant = false;
  for (std::size_t back = 2; back < 6 && back <= i; ++back) constant = constant || text[i - back] == "constexpr";
  return after == "=" && after_type && constant;
}

struct Uses {
  int declared = 0, others = 0;
};
/// Counts the uses of each name in a file.
void count(std::string_view text, std::map<std::string, Uses>& names) {
  std::vector<std::string> const all = tokens(text);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (is_name(all[i])) ++(is_declared(all, i) ? names[all[i]].declared : names[all[i]].others);
}

std::map<std::string, Uses> names_below(std::vector<std::string> const& folders) {
  static std::set<std::string> const code{".cpp", ".hpp", ".cuh", ".cu", ".h", ".c"};
  std::map<std::string, Uses> out;
  for (std::string const& folder : folders)
    for (auto const& entry : fs::recursive_directory_iterator(fs::path(MYRIAD_SOURCE_DIR) / folder)) {
      if (!entry.is_regular_file() || !code.contains(entry.path().extension()) || entry.path().parent_path().filename() == "simt_host")
        continue;
      std::ifstream file(entry.path(), std::ios::binary);
      count(std::string(std::istreambuf_iterator<char>(file), {}), out);
    }
  return out;
}

/// Names that the code declares but does not use, and tests do.
std::set<std::string> only_of_tests(std::map<std::string, Uses> const& code, std::map<std::string, Uses> const& tests,
                                    std::map<std::string, Uses> const& interface) {
  std::set<std::string> out;
  for (auto const& [name, uses] : code)
    if (uses.others == 0 && uses.declared > 0 && tests.contains(name) && !interface.contains(name)) out.insert(name);
  return out;
}

TEST(References, NothingIsForTestsAlone) {
  auto code = names_below({"src"});
  auto const programs = names_below({"cli", "bench", "examples"}), tests = names_below({"tests"}), interface = names_below({"include"});
  for (auto& [name, uses] : code)
    if (auto const found = programs.find(name); found != programs.end()) uses.others += found->second.others;
  ASSERT_GT(code.at("kernel_of").others, 10);
  for (std::string const& name : only_of_tests(code, tests, interface)) ADD_FAILURE() << "only tests refer to " << name;
}

/// The check finds dead names.
TEST(References, AreFoundByText) {
  std::map<std::string, Uses> code, tests, interface;
  count(R"(
    int dead(Queue& queue);  // dead(queue)
    template <typename T> bool dead_template(T const& x) { return x; }
    template bool dead_template(int const&);
    template <typename T> Matrices<T>& dead_member() const;
    inline constexpr unsigned dead_constant = 1'000;
    struct DeadType { int member; };
    int called(int x) { return helper(x) + used_constant && in_a_condition(x); }
    int helper(int x);
    int in_a_condition(int x);
    inline constexpr int used_constant = 3;
    struct UsedType { int member; };
    UsedType exported(UsedType const& x) { return x; }
    char const* kernel = "myriad::kernel_by_name<int>";
    template <typename T> void kernel_by_name(T x) { called(x); }
    int of_nobody();)",
        code);
  count("dead dead_template dead_member dead_constant DeadType called helper in_a_condition used_constant UsedType exported kernel_by_name",
        tests);
  count("UsedType exported(UsedType const& x);", interface);
  EXPECT_EQ(only_of_tests(code, tests, interface),
            (std::set<std::string>{"DeadType", "dead", "dead_constant", "dead_member", "dead_template"}));
}

}  // namespace
}  // namespace myriad
