/// The sources embedded in the library, and the names of kernels.

#include "runtime/sources.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>

#include "lu/lu_tiny_config.cuh"
#include "runtime/kernel_name.hpp"
#include "runtime/sha256.hpp"
#include "test_kernel.hpp"
#include "tune/tuned.hpp"

namespace myriad::gpu {
namespace {

namespace fs = std::filesystem;

TEST(EmbeddedSources, AreTheFiles) {
  fs::path const src = fs::path(MYRIAD_SOURCE_DIR) / "src";
  std::map<std::string, std::string> wanted;
  for (auto const& entry : fs::recursive_directory_iterator(src)) {
    if (!entry.is_regular_file()) continue;
    std::string const name = entry.path().lexically_relative(src).string();
    std::string const extension = entry.path().extension();
    bool const of_simt = name.starts_with("simt/") && extension == ".hpp";
    bool const table = name.starts_with("tune/tables/") && extension == ".json";
    if (of_simt || table || extension == ".cuh") wanted[name] = test::text_of(entry.path());
  }
  std::map<std::string, std::string> embedded;
  for (SourceFile const& file : embedded_sources()) embedded[std::string(file.name)] = file.text;
  EXPECT_EQ(embedded.size(), embedded_sources().size());
  for (auto const& [name, text] : wanted) {
    ASSERT_TRUE(embedded.contains(name)) << name;
    EXPECT_EQ(embedded[name], text) << name;
  }
  EXPECT_EQ(embedded.size(), wanted.size());
}

// Editing the host twin, which only tests run, must leave caches and packs valid.
TEST(EmbeddedSources, AreWithoutTheHostTwin) {
  int files = 0;
  for (auto const& entry : fs::recursive_directory_iterator(fs::path(MYRIAD_SOURCE_DIR) / "src" / "simt_host")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    std::string const text = test::text_of(entry.path());
    for (SourceFile const& file : embedded_sources()) {
      EXPECT_NE(fs::path(file.name).filename(), entry.path().filename());
      EXPECT_EQ(file.text.find(text), std::string_view::npos) << file.name << " has the text of " << entry.path();
    }
  }
  EXPECT_GT(files, 0);
}

TEST(EmbeddedSources, TakeAnyCharacterAndLength) {
  test::TemporaryFolder const folder;
  std::string every;
  for (int i = 1; i < 256; ++i) every += static_cast<char>(i);
  std::string longer = "R\"(not a raw string)\" \\ ; ${x} @x@ [brackets]\n";
  while (longer.size() < 100000) longer += longer;
  std::map<std::string, std::string> const files{{"every.cuh", every}, {"longer.cuh", longer}, {"empty.cuh", ""}};
  std::string list;
  for (auto const& [name, text] : files) {
    std::ofstream(folder.path() / name, std::ios::binary) << text;
    list += (folder.path() / name).string() + "\n";
  }
  std::ofstream(folder.path() / "list.txt") << list;
  auto const run = [&](std::string const& command) { return std::system(command.c_str()); };
  std::string const out = (folder.path() / "out.cpp").string();
  ASSERT_EQ(run("cmake -DROOT=" + folder.path().string() + " -DLIST=" + folder.path().string() + "/list.txt -DOUTPUT=" + out + " -P " +
                MYRIAD_SOURCE_DIR "/cmake/embed_sources.cmake"),
            0);
  // The bytes in the form of the generated file
  std::string const code = test::text_of(out);
  std::size_t at = 0;
  for (auto const& [name, text] : std::map<std::string, std::string>{{"0", ""}, {"1", every}, {"2", longer}}) {
    at = code.find("text_" + name + "[] = {", at);
    ASSERT_NE(at, std::string::npos);
    std::size_t const end = code.find("0};", at);
    std::string bytes;
    for (at = code.find("0x", at); at < end; at = code.find("0x", at + 1))
      bytes += static_cast<char>(std::stoi(code.substr(at, 4), nullptr, 16));
    EXPECT_EQ(bytes, text) << name;
    at = end;
  }
  EXPECT_NE(code.find("\"longer.cuh\""), std::string::npos);
}

TEST(ReachedSources, FollowIncludes) {
  std::array<SourceFile, 5> const files{
      SourceFile{"a.cuh", "#pragma once\n#include \"b.hpp\"\n# include  \"simt/c.hpp\" // why\n#include <d.hpp>\n"},
      {"b.hpp", "#include \"a.cuh\"\n#include \"missing.hpp\"\n"},
      {"simt/c.hpp", "text"},
      {"d.hpp", "not by brackets"},
      {"e.hpp", "// #include \"a.cuh\""}};
  auto const names = [&](std::string_view header) {
    std::vector<std::string> out;
    for (SourceFile const& file : reached_sources(header, files)) out.emplace_back(file.name);
    return out;
  };
  EXPECT_EQ(names("a.cuh"), (std::vector<std::string>{"a.cuh", "b.hpp", "simt/c.hpp"}));
  EXPECT_EQ(names("e.hpp"), (std::vector<std::string>{"e.hpp"}));
  EXPECT_TRUE(names("nothing").empty());
}

TEST(KernelNames, ComeFromTheMembersOfAConfig) {
  LuTiny c{};
  c.job = LuJob::inverse;
  c.m = 8, c.n = 9, c.nrhs = 1, c.lanes = 4, c.matrices = 16, c.panel = 2, c.blocks_per_sm = 3;
  c.method = LuMethod::elimination;
  c.b = simt::Layout::packed_rows;
  KernelSource const source = source_of(KernelName("lu/lu_tiny"), Dtype::c64, c);
  EXPECT_EQ(source.header, "lu/lu_tiny.cuh");
  EXPECT_EQ(
      source.name,
      fmt::format("myriad::lu_tiny<myriad::simt::Complex<double>, myriad::LuTiny{{myriad::LuJob({}), 8, 9, 1, 4, 16, myriad::LuMethod({}), "
                  "2, 3, {layout}(0), {layout}(0), {layout}({}), {layout}(0), {layout}(0)}}>",
                  static_cast<int>(c.job), static_cast<int>(c.method), static_cast<int>(c.b), fmt::arg("layout", "myriad::simt::Layout")));
  EXPECT_FALSE(source.arch_specific);
  KernelSource const other =
      source_of(KernelName("eigen/divide_and_conquer/stedc_leaves", "stedc_load").for_one_architecture(), Dtype::f32, true, 17);
  EXPECT_EQ(other.name, "myriad::stedc_load<float, true, 17>");
  EXPECT_EQ(other.header, "eigen/divide_and_conquer/stedc_leaves.cuh");
  EXPECT_TRUE(other.arch_specific);
  EXPECT_EQ((tuning::Members<&LuTiny::lanes, &LuTiny::blocks_per_sm>::names), (std::array<std::string_view, 2>{"lanes", "blocks_per_sm"}));
}

TEST(Sha256, AgreesWithTheStandard) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1000000, 'a'))), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // in pieces, across the hash's blocks
  Sha256 pieces;
  for (int i = 0; i < 1000; ++i) pieces.add(std::string(1000, 'a'));
  EXPECT_EQ(hex(pieces.finish()), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace myriad::gpu
