/// The kernel store without a GPU: keys, files, packs, the cache on disk.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "myriad/error.hpp"
#include "myriad/kernels.hpp"
#include "runtime/kernel_list.hpp"
#include "runtime/kernel_store.hpp"
#include "test_kernel.hpp"

namespace myriad::gpu {
namespace {

namespace fs = std::filesystem;
using test::scale_source;

#define SKIP_WITHOUT_NVRTC() \
  if (!Nvrtc::instance().available()) GTEST_SKIP() << Nvrtc::instance().problem()

/// The Nvrtc object of a machine without NVRTC.
Nvrtc no_nvrtc() {
  test::Environment const set("MYRIAD_NVRTC", "/nonexistent");
  return Nvrtc::find();
}

/// Collects the library's messages during its lifetime.
class Messages {
 public:
  Messages()
      : before_(on_message([this](std::string_view text) {
          std::scoped_lock const lock(mutex_);
          lines_.emplace_back(text);
        })) {}
  ~Messages() { on_message(before_); }
  [[nodiscard]] int count(std::string_view part) const {
    int out = 0;
    for (std::string const& line : lines_) out += line.find(part) != std::string::npos;
    return out;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
  MessageHandler before_;
};

std::string error_of(auto&& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return {};
}

KernelRecord example_record() {
  return {.key = sha256("key"),
          .name = "f<double, 3>",
          .arch = "sm_90",
          .compiler = "NVRTC 13.0",
          .lowered_name = "_Z1f",
          .log = "",
          .cubin = std::string("\177ELF\0binary", 11)};
}

bool same(KernelRecord const& a, KernelRecord const& b) {
  return a.key == b.key && a.name == b.name && a.arch == b.arch && a.compiler == b.compiler && a.lowered_name == b.lowered_name &&
         a.log == b.log && a.cubin == b.cubin;
}

TEST(KernelRecord, SurvivesItsBytesAndNoDamage) {
  KernelRecord const record = example_record();
  std::string const bytes = to_bytes(record);
  std::string problem;
  auto const back = from_bytes(bytes, problem);
  ASSERT_TRUE(back) << problem;
  EXPECT_TRUE(same(*back, record));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(from_bytes(damaged, problem)) << i;
    EXPECT_FALSE(problem.empty());
    EXPECT_FALSE(from_bytes(bytes.substr(0, i), problem)) << i;
  }
  EXPECT_FALSE(from_bytes(bytes + "x", problem));
}

TEST(KernelKey, CoversAllThatMatters) {
  std::set<Hash> keys;
  int made = 0;
  auto const add = [&](KernelSource const& source, char const* arch = "sm_90", char const* compiler = "NVRTC 13.0") {
    keys.insert(KernelStore::key(source, arch, compiler));
    ++made;
  };
  KernelSource const source = scale_source("double", 2);
  add(source);
  add(source, "sm_90a");
  add(source, "sm_90", "NVRTC 12.9");
  add(scale_source("float", 2));
  KernelSource other = source;
  other.options = {"--maxrregcount=64"};
  add(other);
  other.options = {"--maxrregcount=64", "--fmad=false"};
  add(other);
  other = source;
  std::array<SourceFile, 2> files{source.files[0], source.files[1]};
  std::string const longer = std::string(files[1].text) + " ";
  files[1].text = longer;  // an included header
  other.files = files;
  add(other);
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(made));
  EXPECT_EQ(KernelStore::key(source, "sm_90", "NVRTC 13.0"),
            *keys.find(KernelStore::key(scale_source("double", 2), "sm_90", "NVRTC 13.0")));
  // a file that is not included does not change the key
  std::array<SourceFile, 3> const more{source.files[0], source.files[1], {"unrelated.cuh", "x"}};
  other.files = more;
  EXPECT_EQ(KernelStore::key(other, "sm_90", "NVRTC 13.0"), KernelStore::key(source, "sm_90", "NVRTC 13.0"));
  other.header = "missing.cuh";
  EXPECT_THROW(KernelStore::key(other, "sm_90", "NVRTC 13.0"), CompileError);
}

TEST(UsableArchs, RunOnTheGpu) {
  EXPECT_EQ(usable_archs(9, 0, false), (std::vector<std::string>{"sm_90"}));
  EXPECT_EQ(usable_archs(9, 0, true), (std::vector<std::string>{"sm_90a"}));
  EXPECT_EQ(usable_archs(8, 6, false).front(), "sm_86");
  EXPECT_EQ(usable_archs(8, 6, false).back(), "sm_80");
  EXPECT_EQ(usable_archs(12, 0, false), (std::vector<std::string>{"sm_120"}));
}

TEST(DiskCache, IsMadeForTheUserAlone) {
  test::TemporaryFolder const folder;
  fs::path const place = folder.path() / "a/b/cache";
  DiskCache cache(place.string());
  EXPECT_EQ(cache.problem(), "");
  EXPECT_FALSE(fs::exists(place));
  EXPECT_EQ(cache.prepare(), "");
  EXPECT_EQ(fs::status(place).permissions(), fs::perms::owner_all);
  KernelRecord const record = example_record();
  EXPECT_FALSE(cache.find(record.key));
  EXPECT_EQ(cache.keep(record), "");
  auto const found = cache.find(record.key);
  ASSERT_TRUE(found);
  EXPECT_TRUE(same(*found, record));
  ASSERT_EQ(cache.files().size(), 1U);
  EXPECT_EQ(fs::status(cache.files().front()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  // the folder has nothing but the kernel
  EXPECT_EQ(std::distance(fs::directory_iterator(place), fs::directory_iterator{}), 1);
}

TEST(DiskCache, RefusesFoldersThatOthersCanWrite) {
  test::TemporaryFolder const folder;
  fs::path const place = folder.path() / "open";
  fs::create_directory(place);
  fs::permissions(place, fs::perms::all);
  EXPECT_NE(DiskCache(place.string()).prepare().find("can be written by other users"), std::string::npos);
  std::ofstream(folder.path() / "file") << "x";
  EXPECT_NE(DiskCache((folder.path() / "file").string()).prepare(), "");
  if (::geteuid() == 0) {
    fs::path const foreign = folder.path() / "foreign";
    fs::create_directory(foreign);
    fs::permissions(foreign, fs::perms::owner_all);
    ASSERT_EQ(::chown(foreign.c_str(), 12345, 12345), 0);
    EXPECT_NE(DiskCache(foreign.string()).prepare().find("belongs to another user"), std::string::npos);
  } else {
    EXPECT_NE(DiskCache("/").prepare().find("belongs to another user"), std::string::npos);
  }
}

TEST(DiskCache, IsWhereTheEnvironmentSays) {
  test::Environment const own("MYRIAD_CACHE_DIR", "/x/own");
  EXPECT_EQ(DiskCache::from_environment().folder(), "/x/own");
  test::Environment const off("MYRIAD_CACHE_DIR", "off");
  EXPECT_EQ(DiskCache::from_environment().folder(), "");
  EXPECT_NE(DiskCache::from_environment().problem(), "");
  test::Environment const unset("MYRIAD_CACHE_DIR", nullptr);
  test::Environment const xdg("XDG_CACHE_HOME", "/x/cache");
  EXPECT_EQ(DiskCache::from_environment().folder(), "/x/cache/myriad");
  test::Environment const no_xdg("XDG_CACHE_HOME", nullptr);
  test::Environment const home("HOME", "/x/home");
  EXPECT_EQ(DiskCache::from_environment().folder(), "/x/home/.cache/myriad");
  test::Environment const no_home("HOME", nullptr);
  EXPECT_NE(DiskCache::from_environment().problem().find("MYRIAD_CACHE_DIR"), std::string::npos);
}

TEST(DiskCache, FindsOnlyWhatIsSoundAndItsOwn) {
  test::TemporaryFolder const folder;
  DiskCache cache((folder.path() / "cache").string());
  ASSERT_EQ(cache.prepare(), "");
  KernelRecord const record = example_record();
  ASSERT_EQ(cache.keep(record), "");
  std::string const file = cache.files().front();
  std::string const good = test::text_of(file);
  auto const put = [&](std::string const& text) { std::ofstream(file, std::ios::binary | std::ios::trunc) << text; };
  Messages messages;
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 4);
  KernelRecord other = record;
  other.key = sha256("another key");
  int expected = 0;
  for (std::string const& bad : {flipped, good.substr(0, good.size() - 1), std::string(), std::string("something else"), to_bytes(other)}) {
    put(bad);
    EXPECT_FALSE(cache.find(record.key));
    EXPECT_EQ(messages.count("is made anew"), ++expected);
  }
  put(good);
  EXPECT_TRUE(cache.find(record.key));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(cache.find(record.key));
    EXPECT_EQ(messages.count("belongs to another user"), 1);
  }
}

TEST(KernelStore, CompilesOnceAndKeeps) {
  SKIP_WITHOUT_NVRTC();
  test::TemporaryFolder const folder;
  std::string const place = (folder.path() / "cache").string();
  Messages messages;
  KernelSource const source = scale_source("double", 2);
  KernelStore first(Nvrtc::instance(), DiskCache(place), {});
  KernelRecord const made = first.obtain(source, 9, 0);
  EXPECT_EQ(messages.count("compiled myriad::test::scale<double, 2> for sm_90"), 1);
  KernelRecord const again = first.obtain(source, 9, 0);
  EXPECT_EQ(messages.count("compiled"), 1);
  EXPECT_TRUE(same(made, again));
  // another process would have the same
  KernelStore second(Nvrtc::instance(), DiskCache(place), {});
  EXPECT_TRUE(same(second.obtain(source, 9, 0), made));
  EXPECT_EQ(messages.count("compiled"), 1);
  (void)second.obtain(source, 8, 0);
  (void)second.obtain(scale_source("float", 2), 9, 0);
  EXPECT_EQ(messages.count("compiled"), 3);

  // damage is repaired
  DiskCache const cache(place);
  for (std::string const& file : cache.files()) std::ofstream(file, std::ios::trunc) << "MYRIADK\nnonsense";
  EXPECT_EQ(second.obtain(source, 9, 0).cubin, made.cubin);  // the log has compile times
  EXPECT_EQ(messages.count("compiled"), 4);
  EXPECT_TRUE(cache.find(made.key));
}

TEST(KernelStore, CompilesForAGpuThatIsNewerThanNvrtcWithinItsFamily) {
  SKIP_WITHOUT_NVRTC();
  KernelStore store(Nvrtc::instance(), DiskCache("", "none"), {});
  EXPECT_EQ(store.obtain(scale_source("double", 2), 8, 5).arch, "sm_80");
  EXPECT_NE(error_of([&] { (void)store.obtain(scale_source("double", 2), 99, 0); }).find("compiles for none of sm_990"), std::string::npos);
}

TEST(KernelStore, WorksWithoutACache) {
  SKIP_WITHOUT_NVRTC();
  test::TemporaryFolder const folder;
  fs::path const open = folder.path() / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  Messages messages;
  KernelStore store(Nvrtc::instance(), DiskCache(open.string()), {});
  EXPECT_FALSE(store.obtain(scale_source("double", 1), 9, 0).cubin.empty());
  EXPECT_FALSE(store.obtain(scale_source("double", 1), 9, 0).cubin.empty());
  EXPECT_EQ(messages.count("compiled kernels are not kept"), 1);
  EXPECT_EQ(messages.count("compiled myriad::test"), 2);
  EXPECT_TRUE(fs::is_empty(open));
}

TEST(KernelStore, CompilesOnceForManyProcessesAndThreads) {
  SKIP_WITHOUT_NVRTC();
  test::TemporaryFolder const folder;
  std::string const place = (folder.path() / "cache").string();
  constexpr int processes = 4;
  std::vector<::pid_t> children;
  for (int i = 0; i < processes; ++i) {
    ::pid_t const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // exit status: kernels compiled, or 100
      std::atomic<int> compiled{0};
      on_message([&](std::string_view text) { compiled += text.starts_with("compiled myriad"); });
      int status = 100;
      try {
        KernelStore store(Nvrtc::instance(), DiskCache(place), {});
        std::atomic<bool> good{true};
        auto const use = [&] {
          try {
            for (int times = 1; times <= 3; ++times) {
              KernelRecord const record = store.obtain(scale_source("double", times), 9, 0);
              if (!record.cubin.starts_with("\177ELF") || record.name != scale_source("double", times).name) good = false;
            }
          } catch (std::exception const&) {
            good = false;
          }
        };
        std::thread other(use);
        use();
        other.join();
        if (good) status = compiled;
      } catch (...) {
      }
      ::_exit(status);
    }
    children.push_back(child);
  }
  int compiled = 0;
  for (::pid_t const child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_LT(WEXITSTATUS(status), 100);
    compiled += WEXITSTATUS(status);
  }
  EXPECT_EQ(compiled, 3);
  EXPECT_EQ(DiskCache(place).files().size(), 3U);
}

TEST(Pack, HoldsKernels) {
  test::TemporaryFolder const folder;
  std::string const path = (folder.path() / "some.pack").string();
  std::vector<KernelRecord> records;
  for (int i = 0; i < 100; ++i) {
    KernelRecord record = example_record();
    record.key = sha256(std::to_string(i));
    record.cubin = std::string(static_cast<std::size_t>(i * 10), static_cast<char>(i));
    records.push_back(record);
  }
  Pack::write(path, records);
  Pack const pack(path);
  EXPECT_EQ(pack.size(), 100U);
  EXPECT_EQ(pack.compiler(), "NVRTC 13.0");
  for (KernelRecord const& record : records) {
    auto const found = pack.find(record.key);
    ASSERT_TRUE(found);
    EXPECT_TRUE(same(*found, record));
  }
  EXPECT_FALSE(pack.find(sha256("not there")));

  std::string const good = test::text_of(path);
  auto const refused = [&](std::string const& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    return error_of([&] { (void)Pack(path); });
  };
  EXPECT_NE(refused("").find("is not a file of this kind"), std::string::npos);
  EXPECT_NE(refused(good.substr(0, 60)).find("is cut short"), std::string::npos);
  EXPECT_NE(refused(good.substr(0, good.size() - 1)).find("is cut short"), std::string::npos);
  std::string damaged = good;
  damaged[200] = static_cast<char>(damaged[200] ^ 1);  // in the index
  EXPECT_NE(refused(damaged).find("is damaged"), std::string::npos);
  damaged = good;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);  // in the last record
  EXPECT_EQ(refused(damaged), "");
  Pack const last_is_damaged(path);
  int failures = 0;
  for (KernelRecord const& record : records) failures += !error_of([&] { (void)last_is_damaged.find(record.key); }).empty();
  EXPECT_EQ(failures, 1);
  EXPECT_NE(error_of([] { (void)Pack("/nonexistent.pack"); }).find("/nonexistent.pack cannot be opened"), std::string::npos);
}

TEST(Pack, KeepsItsKernelsWhenItsFileIsReplaced) {
  test::TemporaryFolder const folder;
  std::string const path = (folder.path() / "some.pack").string();
  KernelRecord const record = example_record();
  KernelRecord other = record;
  other.key = sha256("another key");
  other.cubin = "another";
  Pack::write(path, {record});
  Pack const pack(path);
  Pack::write(path, {other});
  Pack const replaced(path);
  auto const expect_found = [](Pack const& in, KernelRecord const& expected) {
    auto const found = in.find(expected.key);
    ASSERT_TRUE(found);
    EXPECT_TRUE(same(*found, expected));
  };
  expect_found(pack, record);
  expect_found(replaced, other);
  EXPECT_FALSE(pack.find(other.key));
  fs::remove(path);
  expect_found(pack, record);
  expect_found(replaced, other);
}

TEST(Pack, SaysThatItsFileWasWrittenOver) {
  test::TemporaryFolder const folder;
  std::string const path = (folder.path() / "some.pack").string(), elsewhere = (folder.path() / "other.pack").string();
  KernelRecord const record = example_record();
  KernelRecord other = record;
  other.key = sha256("another key");
  other.cubin += "longer";
  Pack::write(path, {record});
  Pack::write(elsewhere, {other});
  Pack const pack(path);
  std::string const good = test::text_of(path);
  auto const error_with = [&](std::string const& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    return error_of([&] { (void)pack.find(record.key); });
  };
  for (std::string const& text : {std::string(), good.substr(0, good.size() - 1), test::text_of(elsewhere)}) {
    std::string const error = error_with(text);
    EXPECT_NE(error.find("pack " + path + ": the kernel " + hex(record.key) + " is gone: the file was written over"), std::string::npos)
        << error;
  }
  EXPECT_EQ(error_with(good), "");  // records with a good checksum are intact
}

TEST(KernelStore, NeedsNoCompilerWithAPack) {
  SKIP_WITHOUT_NVRTC();
  test::TemporaryFolder const folder;
  KernelStore builder(Nvrtc::instance(), DiskCache("", "none"), {});
  std::vector<KernelRecord> records;
  for (char const* const arch : {"sm_80", "sm_90"}) records.push_back(builder.compile(scale_source("double", 2), arch));
  fs::create_directory(folder.path() / "packs");
  Pack::write((folder.path() / "packs/test.pack").string(), records);

  test::Environment const set("MYRIAD_PACK", folder.path().c_str());
  EXPECT_TRUE(Packs::find().places.empty());
  test::Environment const set_folder("MYRIAD_PACK", (folder.path() / "packs").c_str());
  Packs const packs = Packs::find();
  ASSERT_EQ(packs.places.size(), 1U);
  KernelStore store(no_nvrtc(), DiskCache("", "none"), packs);
  EXPECT_EQ(store.problem(), "");
  EXPECT_TRUE(same(store.obtain(scale_source("double", 2), 9, 0), records[1]));
  EXPECT_TRUE(same(store.obtain(scale_source("double", 2), 8, 6), records[0]));  // runs on 8.6, too
  std::string const miss = error_of([&] { (void)store.obtain(scale_source("double", 3), 9, 0); });
  EXPECT_NE(miss.find("myriad::test::scale<double, 3> for sm_90"), std::string::npos) << miss;
  EXPECT_NE(miss.find("test.pack"), std::string::npos) << miss;
  EXPECT_NE(miss.find("/nonexistent"), std::string::npos) << miss;

  KernelStore const nothing(no_nvrtc(), DiskCache("", "none"), {});
  EXPECT_NE(nothing.problem().find("/nonexistent"), std::string::npos);

  // a missing pack of MYRIAD_PACK is an error, even with a compiler
  test::Environment const missing("MYRIAD_PACK", "/nonexistent.pack");
  KernelStore with_missing(Nvrtc::instance(), DiskCache("", "none"), Packs::find());
  EXPECT_NE(error_of([&] { (void)with_missing.obtain(scale_source("double", 2), 9, 0); }).find("/nonexistent.pack"), std::string::npos);
}

/// A kernel as a pack holds it, uncompiled.
KernelRecord packed(char const* arch, char const* compiler = "NVRTC 13.0") {
  KernelSource const source = scale_source("double", 2);
  return {.key = KernelStore::key(source, arch, compiler),
          .name = source.name,
          .arch = arch,
          .compiler = compiler,
          .lowered_name = "scale",
          .log = "",
          .cubin = "image"};
}

TEST(KernelStore, TakesThePtxOfAPackForNewerGpus) {
  test::TemporaryFolder const folder;
  Pack::write((folder.path() / "some.pack").string(), {packed("sm_80"), packed("sm_90"), packed("compute_90")});
  KernelStore store(no_nvrtc(), DiskCache("", "none"), Packs::find({folder.path().string()}));
  KernelSource const source = scale_source("double", 2);
  auto const arch = [&](int major, int minor, DriverLimits driver = {}) { return store.obtain(source, major, minor, driver).arch; };
  EXPECT_EQ(arch(8, 6), "sm_80");
  EXPECT_EQ(arch(9, 0), "sm_90");
  EXPECT_EQ(arch(10, 3), "compute_90");
  EXPECT_EQ(arch(13, 0, {.version = 13000}), "compute_90");
  // The driver's own compiler may be missing, and reads PTX up to the driver's version only.
  auto const error = [&](DriverLimits driver) { return error_of([&] { (void)store.obtain(source, 13, 0, driver); }); };
  EXPECT_NE(error({.compiles_ptx = false}).find("is in no pack"), std::string::npos) << error({.compiles_ptx = false});
  EXPECT_NE(error({.version = 12090}).find("some.pack: NVRTC 13.0 is newer than the driver, 12.9"), std::string::npos);
  // A driver takes PTX of its own major version only.
  Pack::write((folder.path() / "some.pack").string(), {packed("sm_90", "NVRTC 13.2"), packed("compute_90", "NVRTC 13.2")});
  KernelStore newer(no_nvrtc(), DiskCache("", "none"), Packs::find({folder.path().string()}));
  EXPECT_EQ(newer.obtain(source, 9, 0, {.version = 13000}).arch, "sm_90");
  EXPECT_THROW((void)newer.obtain(source, 13, 0, {.version = 13000}), Unavailable);
  EXPECT_EQ(newer.obtain(source, 13, 0, {.version = 13020}).arch, "compute_90");
  // Code that uses features of one architecture runs on no other.
  KernelSource specific = source;
  specific.arch_specific = true;
  EXPECT_THROW((void)newer.obtain(specific, 13, 0), Unavailable);
}

TEST(KernelStore, PassesOverPacksThatAreTooNewForTheDriver) {
  SKIP_WITHOUT_NVRTC();
  test::TemporaryFolder const folder;
  Pack::write((folder.path() / "some.pack").string(), {packed("sm_90", "NVRTC 99.0")});
  KernelStore store(Nvrtc::instance(), DiskCache("", "none"), Packs::find({folder.path().string()}));
  KernelSource const source = scale_source("double", 2);
  EXPECT_EQ(store.obtain(source, 9, 0).compiler, "NVRTC 99.0");
  EXPECT_EQ(store.obtain(source, 9, 0, {.version = 13000}).compiler, Nvrtc::instance().name());
}

TEST(KernelStore, CompilesPtxForAPack) {
  SKIP_WITHOUT_NVRTC();
  KernelStore store(Nvrtc::instance(), DiskCache("", "none"), {});
  KernelRecord const record = store.compile(scale_source("double", 2), "compute_90");
  EXPECT_TRUE(record.is_ptx());
  EXPECT_NE(record.cubin.find(".target sm_90"), std::string::npos) << record.cubin;
  EXPECT_NE(record.cubin.find(".entry " + record.lowered_name), std::string::npos) << record.cubin;
}

TEST(Packs, AreSearchedInOrder) {
  test::TemporaryFolder const folder;
  for (char const* const name : {"a", "b", "named"}) {
    fs::create_directory(folder.path() / name);
    Pack::write((folder.path() / name / "some.pack").string(), {packed("sm_90")});
  }
  auto const path = [&](char const* name) { return (folder.path() / name).string(); };
  test::Environment const named("MYRIAD_PACK", path("named").c_str());
  std::vector<std::string> found;
  for (Packs::Place const& place : Packs::find({path("b"), path("missing"), path("a")}).places) found.push_back(place.path);
  EXPECT_EQ(found, (std::vector<std::string>{path("named/some.pack"), path("b/some.pack"), path("a/some.pack")}));

  (void)KernelStore::instance();  // opens packs
  EXPECT_NE(error_of([&] { search_packs(path("a")); }).find("search_packs: packs have been looked for before"), std::string::npos);
}

TEST(KernelList, HoldsEachKernelOnce) {
  test::TemporaryFolder const folder;
  std::string const path = (folder.path() / "kernels.list").string();
  Pack::write((folder.path() / "some.pack").string(), {packed("sm_90")});
  KernelStore store(no_nvrtc(), DiskCache("", "none"), Packs::find({folder.path().string()}), {}, path);
  (void)store.obtain(scale_source("double", 2), 9, 0);
  KernelSource other = scale_source("float", 3);
  other.options = {"--fmad=false", "-default-device"};
  other.arch_specific = true;
  EXPECT_THROW((void)store.obtain(other, 9, 0), Unavailable);  // listed nevertheless
  (void)store.obtain(scale_source("double", 2), 9, 0);

  std::vector<KernelSource> const kernels = read_kernel_list(path);
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].header, "scale.cuh");
  EXPECT_EQ(kernels[0].name, "myriad::test::scale<double, 2>");
  EXPECT_TRUE(kernels[0].options.empty() && !kernels[0].arch_specific);
  EXPECT_EQ(kernels[1].name, other.name);
  EXPECT_EQ(kernels[1].options, other.options);
  EXPECT_TRUE(kernels[1].arch_specific);

  std::ofstream(path, std::ios::app) << "nonsense\n";
  EXPECT_NE(error_of([&] { (void)read_kernel_list(path); }).find("kernels.list: line 4 is not a header"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)read_kernel_list(path + "x"); }).find("cannot be read"), std::string::npos);
  KernelStore unwritable(no_nvrtc(), DiskCache("", "none"), {}, {}, path + "/list");
  EXPECT_NE(error_of([&] { (void)unwritable.obtain(other, 9, 0); }).find("MYRIAD_KERNEL_LIST: "), std::string::npos);
}

TEST(KernelStore, DumpsWhatItCompiles) {
  SKIP_WITHOUT_NVRTC();
  test::TemporaryFolder const folder;
  KernelStore store(Nvrtc::instance(), DiskCache((folder.path() / "cache").string()), {}, (folder.path() / "dump").string());
  (void)store.obtain(scale_source("double", 2), 9, 0);
  std::set<std::string> extensions;
  for (auto const& entry : fs::directory_iterator(folder.path() / "dump")) {
    if (!entry.is_regular_file() || entry.path().filename() == "scale.cuh") continue;
    EXPECT_TRUE(entry.path().filename().string().starts_with("myriad_test_scale_double_2_-")) << entry.path();
    extensions.insert(entry.path().extension());
    EXPECT_GT(entry.file_size(), 0U);
  }
  EXPECT_EQ(extensions, (std::set<std::string>{".cu", ".cubin", ".log", ".ptx"}));
  EXPECT_EQ(test::text_of(folder.path() / "dump/scale.cuh"), test::test_sources()[0].text);
  EXPECT_TRUE(fs::exists(folder.path() / "dump/simt/arithmetic.hpp"));
  EXPECT_FALSE(fs::exists(folder.path() / "cache"));  // the cache is neither read nor filled
}

}  // namespace
}  // namespace myriad::gpu
