/// Reading and writing files: every format, and everything that can be wrong with a file.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <complex>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "io/element.hpp"
#include "io/error.hpp"
#include "io/mapped_file.hpp"
#include "io/matrix_market.hpp"
#include "io/npy.hpp"
#include "io/npz.hpp"
#include "io/output_file.hpp"
#include "io/paths.hpp"
#include "io/results.hpp"
#include "io/source.hpp"
#include "io/text.hpp"
#include "temporary_folder.hpp"

namespace {

int flock_errno = 0;           ///< with which flock() fails, if any
int flock_signal = 0;          ///< raised by flock(), if any
int signal_before_rename = 0;  ///< raised by rename(), if any
int signal_after_rename = 0;   ///< raised by rename(), if any

template <typename F>
F* original(char const* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// Replaces the C library's.
extern "C" int flock(int fd, int operation) noexcept {
  if (flock_signal != 0) ::raise(flock_signal);
  if (flock_errno == 0) return original<int(int, int)>("flock")(fd, operation);
  errno = flock_errno;
  return -1;
}

extern "C" int rename(char const* from, char const* to) noexcept {
  if (signal_before_rename != 0) ::raise(signal_before_rename);
  int const result = original<int(char const*, char const*)>("rename")(from, to);
  if (signal_after_rename != 0) {
    std::ofstream(from) << "of the next run";
    ::raise(signal_after_rename);
  }
  return result;
}

namespace myriad::io {
namespace {

using test::TemporaryFolder;
using c64 = std::complex<double>;

/// The text of the Error that f throws.
template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "(no error)";
}

::testing::AssertionResult contains(std::string const& text, std::string const& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << text << "' does not contain '" << part << "'";
}

std::string npy_bytes(std::string const& dictionary, std::string const& data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  std::size_t const length = dictionary.size() + 1;
  for (std::size_t i = 0; i < (version == 1 ? 2U : 4U); ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes + dictionary + "\n" + data;
}

template <typename T>
std::string raw(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
std::vector<T> read_all(Source const& source) {
  std::int64_t elements = 0;
  for (std::int64_t b = 0; b < source.count(); ++b) elements += source.rows_of(b) * source.cols_of(b);
  std::vector<T> out(static_cast<std::size_t>(elements), T(-77));
  source.read(0, source.count(), dtype_of<T>, out.data());
  return out;
}

struct Io : ::testing::Test {
  TemporaryFolder folder;
};

// .npy

TEST_F(Io, NpyHeaderIsReadInEveryVersionAndSpelling) {
  for (int version : {1, 2, 3}) {
    NpyHeader const h = parse_npy_header(npy_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }", "", version), "f");
    EXPECT_EQ(h.descr, "<f8");
    EXPECT_FALSE(h.fortran_order);
    EXPECT_EQ(h.shape, (Shape{3, 4}));
  }
  NpyHeader const h = parse_npy_header(npy_bytes("{\"shape\":(5L,),\"fortran_order\":True,\"descr\":\"<c16\"}", ""), "f");
  EXPECT_TRUE(h.fortran_order);
  EXPECT_EQ(h.shape, (Shape{5}));
  EXPECT_EQ(parse_npy_header(npy_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", ""), "f").shape, Shape{});
}

TEST_F(Io, NpyHeaderThatIsDamagedIsRefused) {
  for (std::string const& dictionary :
       {std::string("{'descr': '<f8', 'fortran_order': False}"), std::string("{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}"),
        std::string("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"),
        std::string("{'descr': '<f8', 'fortran_order': False, 'shape': (1"), std::string("nonsense"), std::string("")})
    EXPECT_TRUE(
        contains(error_of([&] { (void)parse_npy_header(npy_bytes(dictionary, ""), "f.npy"); }), "f.npy: the .npy header is damaged"))
        << dictionary;
  auto const header = [&](std::string const& dictionary) {
    return error_of([&] { (void)parse_npy_header(npy_bytes(dictionary, ""), "f.npy"); });
  };
  std::string const start = "{'descr': '<f8', 'fortran_order': False, ", good = start + "'shape': (3, 4), }";
  EXPECT_EQ(header(good + "  \n  "), "(no error)");
  EXPECT_TRUE(contains(header(good + " import os"), "'import os' follows its closing brace, where only spaces and a line feed may be"));
  EXPECT_TRUE(contains(header(good + '\0'), "'\\x00' follows its closing brace"));
  EXPECT_TRUE(contains(header(good + "\t"), "'\\x09' follows its closing brace"));
  EXPECT_TRUE(contains(header(start + "'shape': (3, 4), 'shape': (4, 3)}"), "'shape' is there twice"));
  EXPECT_TRUE(contains(header(start + "'shape': (3)}"), "not a tuple"));
  EXPECT_TRUE(contains(header(start + "'shape': (03, 4)}"), "'shape' has no size at '03, 4)}"));
  EXPECT_TRUE(contains(header(start + "'shape': (3,, 4)}"), "'shape' has no size at ', 4)}"));
  EXPECT_TRUE(contains(header(start + "'shape': (-0, 4)}"), "'shape' has no size at"));
  EXPECT_TRUE(contains(header(start + "}"), "'shape' is missing"));
  EXPECT_TRUE(contains(header(start + "'order': 1}"), "'order' is no key of it"));
  std::string ones;
  for (int i = 0; i < 20'000; ++i) ones += "1,";
  EXPECT_TRUE(contains(header(start + "'shape': (" + ones + ")}"), "'shape' has more than 64 dimensions"));
  EXPECT_LT(header("{'descr': '" + std::string(60'000, 'x')).size(), 200U);
  std::string other = npy_bytes(good, "");
  other[7] = 5;
  EXPECT_TRUE(contains(error_of([&] { (void)parse_npy_header(other, "f"); }), "version 1.5 is not known"));
  EXPECT_TRUE(contains(error_of([&] { (void)parse_npy_header(npy_bytes("{}", "").substr(0, 8), "f"); }), "ends inside its .npy header"));
  EXPECT_TRUE(contains(error_of([&] { (void)parse_npy_header(npy_bytes("{}", "").substr(0, 11), "f"); }), "ends inside its .npy header"));
  EXPECT_TRUE(contains(error_of([&] { (void)parse_npy_header(npy_bytes("{}", "", 9), "f"); }), "version 9"));
}

TEST_F(Io, NpyTypesThatCannotBeComputedWithAreRefusedByName) {
  auto const refusal = [&](std::string const& descr) {
    std::string const path =
        folder.write("a.npy", npy_bytes("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1, 1), }", std::string(16, '\0')));
    return error_of([&] { (void)open_source(path); });
  };
  EXPECT_TRUE(contains(refusal("!f8"), "elements of type '!f8'"));
  EXPECT_TRUE(contains(refusal("|O"), "Python objects"));
  EXPECT_TRUE(contains(refusal("<f2"), "numbers of 16 bits ('<f2'); --dtype f4"));
  EXPECT_TRUE(contains(refusal("<f16"), "elements of type '<f16'"));
  EXPECT_TRUE(contains(refusal("<U4"), "elements of type '<U4'"));
  EXPECT_TRUE(contains(refusal("<i8"), "integers ('<i8'); --dtype f8"));
  std::string const path =
      folder.write("r.npy", npy_bytes("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,), }", std::string(8, '\0')));
  EXPECT_TRUE(contains(error_of([&] { (void)open_source(path); }), "structured dtype"));
}

TEST_F(Io, NpyThatIsCutShortNamesTheBytes) {
  std::string const path =
      folder.write("a.npy", npy_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", std::string(31, '\0')));
  EXPECT_TRUE(contains(error_of([&] { (void)open_source(path); }), "cut short: shape (2, 2) of '<f8' takes 32 bytes, there are 31"));
}

TEST_F(Io, NpyShapeThatOverflowsIsRefused) {
  std::string const path = folder.write(
      "a.npy",
      npy_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }", std::string(31, '\0')));
  EXPECT_TRUE(
      contains(error_of([&] { (void)open_source(path); }), "a.npy: an array of shape (4294967296, 4294967296, 4294967296) is too large"));
  // NumPy also counts an extent of 0 as 1 here.
  for (std::string const shape : {"(0, 9223372036854775807)", "(1099511627776, 0, 1099511627776)"}) {
    std::string const empty = folder.write("e.npy", npy_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }", ""));
    EXPECT_TRUE(contains(error_of([&] { (void)open_source(empty); }), "e.npy: an array of shape " + shape + " is too large"));
  }
  double const none = 0;
  EXPECT_TRUE(contains(error_of([&] { save_npy(folder.path("x.npy"), &none, {0, 9223372036854775807}); }), "x.npy: an array of shape"));
  std::vector<Field> const fields{{"x", "<f8", 8, [](std::int64_t) { return Shape{0, std::int64_t{1} << 60}; }}};
  EXPECT_TRUE(contains(error_of([&] { ResultFile(folder.path("x.npz"), fields, {.count = 0}); }), "x.npz: an array of shape"));
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"a.npy", "e.npy"}));
}

TEST_F(Io, NpyInTheOtherByteOrderIsSwapped) {
  auto const swapped = [&](std::string const& descr, auto values, std::size_t size) {
    std::string bytes = raw(values);
    for (std::size_t i = 0; i < bytes.size(); i += size)
      std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i), bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
    return folder.write("s.npy", npy_bytes("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1, 3), }", bytes));
  };
  std::string const path = swapped(">f8", std::vector<double>{1, -2.5, 1e-300}, 8);
  EXPECT_FALSE(open_source(path)->direct(Dtype::f64));
  EXPECT_EQ(read_all<double>(*open_source(path)), (std::vector<double>{1, -2.5, 1e-300}));
  EXPECT_EQ(read_all<float>(*open_source(swapped(">f4", std::vector<float>{1, -2.5F, 3}, 4))), (std::vector<float>{1, -2.5F, 3}));
  EXPECT_EQ(read_all<c64>(*open_source(swapped(">c16", std::vector<c64>{{1, 2}, {-3, 4}, 5}, 8))), (std::vector<c64>{{1, 2}, {-3, 4}, 5}));
  EXPECT_EQ(read_all<double>(*open_source(swapped(">i2", std::vector<std::int16_t>{-1, 2, 300}, 2), Dtype::f64)),
            (std::vector<double>{-1, 2, 300}));
  EXPECT_EQ(read_all<float>(*open_source(swapped(">f2", std::vector<std::uint16_t>{0x3c00, 0xc100, 1}, 2), Dtype::f32)),
            (std::vector<float>{1, -2.5F, 0x1p-24F}));
}

TEST_F(Io, NpyShapesBecomeMatrices) {
  auto const open = [&](Shape const& shape) {
    std::vector<double> const data(static_cast<std::size_t>(element_count(shape)));
    save_npy(folder.path("a.npy"), data.data(), shape);
    return open_source(folder.path("a.npy"));
  };
  auto const vector = open({3});
  EXPECT_TRUE(vector->vectors() && vector->single());
  EXPECT_EQ(vector->rows(), 3);
  EXPECT_EQ(vector->cols(), 1);
  auto const batch = open({5, 3, 2});
  EXPECT_FALSE(batch->single());
  EXPECT_EQ(batch->count(), 5);
  auto const two = open({4, 3});
  EXPECT_TRUE(two->single());
  ASSERT_TRUE(two->as_vectors());
  EXPECT_EQ(two->count(), 4);
  EXPECT_EQ(two->rows(), 3);
  EXPECT_EQ(open({0, 3, 3})->count(), 0);
  EXPECT_TRUE(contains(error_of([&] { open({1, 1, 1, 1}); }), "4 dimensions"));
  EXPECT_TRUE(contains(error_of([&] { open({}); }), "0 dimensions"));
}

TEST_F(Io, NpyInFortranOrderIsTheSameMatrices) {
  constexpr std::int64_t count = 131, rows = 3, cols = 2;
  std::vector<float> c_order(count * rows * cols), fortran(c_order.size());
  for (std::int64_t b = 0; b < count; ++b)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        float const value = static_cast<float>(b * 100 + i * 10 + j);
        c_order[static_cast<std::size_t>((b * rows + i) * cols + j)] = value;
        fortran[static_cast<std::size_t>(b + count * (i + rows * j))] = value;
      }
  auto const source =
      open_source(folder.write("f.npy", npy_bytes("{'descr': '<f4', 'fortran_order': True, 'shape': (131, 3, 2), }", raw(fortran))));
  EXPECT_EQ(read_all<float>(*source), c_order);
  std::vector<double> part(2 * rows * cols);
  source->read(70, 2, Dtype::f64, part.data());
  for (std::size_t k = 0; k < part.size(); ++k)
    EXPECT_EQ(part[k], static_cast<double>(c_order[static_cast<std::size_t>(70 * rows * cols) + k]));

  auto const matrix = open_source(
      folder.write("m.npy", npy_bytes("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", raw<float>({1, 4, 2, 5, 3, 6}))));
  EXPECT_EQ(read_all<float>(*matrix), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  auto const vectors = open_source(folder.path("m.npy"));
  ASSERT_TRUE(vectors->as_vectors());
  EXPECT_EQ(read_all<float>(*vectors), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Io, NpyMemoryIsUsedDirectlyOnlyWhereItFits) {
  std::vector<double> const data(18, 1.0);
  save_npy(folder.path("a.npy"), data.data(), {2, 3, 3});
  auto const source = open_source(folder.path("a.npy"));
  EXPECT_TRUE(source->direct(Dtype::f64));
  EXPECT_FALSE(source->direct(Dtype::f32));
  // A header of odd length leaves the elements unaligned.
  auto const odd =
      open_source(folder.write("odd.npy", npy_bytes("{'descr':'<f8','fortran_order':False,'shape':(1,1)} ", raw<double>({42.0}))));
  ASSERT_NE(parse_npy_header(MappedFile(folder.path("odd.npy")).bytes(), "").data_offset % 8, 0U);
  EXPECT_FALSE(odd->direct(Dtype::f64));
  EXPECT_EQ(read_all<double>(*odd), std::vector<double>{42.0});
}

TEST_F(Io, IntegersAreConvertedOnRequestAndComplexNeverMadeReal) {
  std::string const path =
      folder.write("i.npy", npy_bytes("{'descr': '<i2', 'fortran_order': False, 'shape': (1, 3), }", raw<std::int16_t>({-1, 2, 300})));
  EXPECT_EQ(read_all<double>(*open_source(path, Dtype::f64)), (std::vector<double>{-1, 2, 300}));
  EXPECT_EQ(read_all<c64>(*open_source(path, Dtype::c64)), (std::vector<c64>{-1, 2, 300}));
  std::string const halves = folder.write(
      "h.npy", npy_bytes("{'descr': '<f2', 'fortran_order': False, 'shape': (1, 3), }", raw<std::uint16_t>({0x3c00, 0xc100, 1})));
  EXPECT_EQ(read_all<float>(*open_source(halves, Dtype::f32)), (std::vector<float>{1, -2.5F, 0x1p-24F}));
  EXPECT_EQ(read_all<c64>(*open_source(halves, Dtype::c64)), (std::vector<c64>{1, -2.5, 0x1p-24}));
  c64 const z(1, 2);
  save_npy(folder.path("z.npy"), &z, {1, 1});
  EXPECT_TRUE(
      contains(error_of([&] { (void)open_source(folder.path("z.npy"), Dtype::f64); }), "--dtype f8 would drop their imaginary parts"));
  EXPECT_EQ(read_all<std::complex<float>>(*open_source(folder.path("z.npy"), Dtype::c32))[0], std::complex<float>(1, 2));
}

TEST_F(Io, NpyIsAlignedAndRoundTrips) {
  for (Shape const& shape : {Shape{}, Shape{7}, Shape{0, 4, 4}, Shape{2, 3, 5}, Shape{1234567, 1, 1}}) {
    std::vector<double> data(static_cast<std::size_t>(element_count(shape)));
    std::iota(data.begin(), data.end(), 0.5);
    std::string const path = folder.path("a.npy");
    save_npy(path, data.data(), shape);
    MappedFile const file(path);
    NpyHeader const header = parse_npy_header(file.bytes(), path);
    EXPECT_EQ(header.shape, shape);
    EXPECT_EQ(header.data_offset % 64, 0U);
    EXPECT_EQ(file.bytes().substr(header.data_offset), raw(data));
  }
}

TEST_F(Io, PromotionIsNumPys) {
  EXPECT_EQ(promote(Dtype::f32, Dtype::f32), Dtype::f32);
  EXPECT_EQ(promote(Dtype::f32, Dtype::f64), Dtype::f64);
  EXPECT_EQ(promote(Dtype::f32, Dtype::c32), Dtype::c32);
  EXPECT_EQ(promote(Dtype::f64, Dtype::c32), Dtype::c64);
  EXPECT_EQ(promote(Dtype::c64, Dtype::f32), Dtype::c64);
}

// Matrix Market

struct Market : Io {
  template <typename T = double>
  std::vector<T> parse(std::string const& text) {
    MarketHeader const header = parse_market_header(text, "m.mtx");
    std::vector<T> out(static_cast<std::size_t>(header.rows * header.cols), T(-77));
    parse_market(text, header, "m.mtx", out.data());
    return out;
  }
  std::string refusal(std::string const& text) {
    return error_of([&] { parse<c64>(text); });
  }
};

TEST_F(Market, ArrayIsColumnByColumn) {
  EXPECT_EQ(parse("%%MatrixMarket matrix array real general\n% comment\n\n2 3\n1\n2\n 3 \n4\r\n5e0\n+6\n"),
            (std::vector<double>{1, 3, 5, 2, 4, 6}));
}

TEST_F(Market, CoordinateIsDenseAndAddsUpDuplicates) {
  EXPECT_EQ(parse("%%matrixmarket MATRIX Coordinate Integer General\n2 2 3\n1 1 5\n2 1 -3\n1 1 2"), (std::vector<double>{7, 0, -3, 0}));
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"), (std::vector<double>{0, 1, 0, 0}));
}

TEST_F(Market, SymmetryFillsTheOtherTriangle) {
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 1 5\n"), (std::vector<double>{1, 5, 5, 0}));
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n"), (std::vector<double>{0, -5, 5, 0}));
  EXPECT_EQ(parse("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n"), (std::vector<double>{1, 2, 3, 2, 4, 5, 3, 5, 6}));
  EXPECT_EQ(parse("%%MatrixMarket matrix array real skew-symmetric\n3 3\n2\n3\n5\n"), (std::vector<double>{0, -2, -3, 2, 0, -5, 3, 5, 0}));
  EXPECT_EQ(parse<c64>("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 5 7\n"),
            (std::vector<c64>{1, {5, -7}, {5, 7}, 0}));
  EXPECT_EQ(parse<c64>("%%MatrixMarket matrix array complex symmetric\n2 2\n1 1\n5 7\n2 2\n"),
            (std::vector<c64>{{1, 1}, {5, 7}, {5, 7}, {2, 2}}));
  // Zeros on the diagonal of a skew-symmetric matrix may be stored or not.
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 3\n1 1 0\n2 1 5\n2 2 -0.0\n"),
            (std::vector<double>{0, -5, 5, 0}));
  EXPECT_EQ(parse("%%MatrixMarket matrix array real skew-symmetric\n3 3\n0\n2\n3\n0\n5\n0\n"),
            (std::vector<double>{0, -2, -3, 2, 0, -5, 3, 5, 0}));
}

TEST_F(Market, NumbersInEverySpelling) {
  std::vector<double> const x =
      parse("%%MatrixMarket matrix array real general\n8 1\n1D+02\n-2.5d-1\n1e-320\n1e-400\n1e400\nnan\n-inf\n1e-91\n");
  EXPECT_EQ(x[0], 100);
  EXPECT_EQ(x[1], -0.25);
  EXPECT_EQ(x[2], 1e-320);
  EXPECT_EQ(x[3], 0);
  EXPECT_EQ(x[4], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(x[5]));
  EXPECT_EQ(x[6], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(x[7], 1e-91);
}

TEST_F(Market, ErrorsNameTheLine) {
  std::string const head = "%%MatrixMarket matrix coordinate real general\n";
  EXPECT_TRUE(contains(refusal("hello"), "m.mtx: is not a Matrix Market file"));
  EXPECT_TRUE(contains(refusal("%%MatrixMarket vector array real general\n1 1\n1\n"), "m.mtx, line 1: the object is 'vector'"));
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix array quaternion general\n1 1\n1\n"),
                       "line 1: field 'quaternion' is not known; there are real"));
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix array real\n1 1\n1\n"), "line 1: symmetry '' is not known"));
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix array real hermitian\n1 1\n1\n"), "only a complex matrix can be hermitian"));
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix array pattern general\n1 1\n1\n"), "an array cannot be a pattern"));
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix array real symmetric\n1 2\n1\n"), "line 2: a matrix of 1 x 2 cannot be symmetric"));
  EXPECT_TRUE(contains(refusal(head), "line 1: the file ends before the line with the sizes"));
  EXPECT_TRUE(contains(refusal(head + "2 2\n"), "line 2: the number of entries is missing"));
  EXPECT_TRUE(contains(refusal(head + "2 x 1\n"), "line 2: the number of columns is 'x'"));
  EXPECT_TRUE(contains(refusal(head + "2 -2 1\n"), "line 2: a size is negative"));
  EXPECT_TRUE(contains(refusal(head + "%\n2 2 2\n1 1 1\n"), "line 4: the file ends after 1 of 2 entries"));
  EXPECT_TRUE(contains(refusal(head + "2 2 1\n3 1 1\n"), "line 3: entry (3, 1) lies outside of the 2 x 2 matrix"));
  EXPECT_TRUE(contains(refusal(head + "2 2 1\n0 1 1\n"), "line 3: entry (0, 1) lies outside"));
  EXPECT_TRUE(contains(refusal(head + "2 2 1\n1 1 abc\n"), "line 3: 'abc' is not a number"));
  EXPECT_TRUE(contains(refusal(head + "2 2 1\n1 1\n"), "line 3: a value is missing"));
  EXPECT_TRUE(contains(refusal(head + "2 2 1\n1 1 1 1\n"), "line 3: '1' is more than the line should hold"));
  EXPECT_TRUE(contains(refusal(head + "2 2 1\n1 1 1\n2 2 2\n"), "line 4: the file goes on after its 1 entries"));
  EXPECT_TRUE(
      contains(refusal("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n"), "line 3: entry (1, 2) lies above the diagonal"));
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n"),
                       "line 3: entry (1, 1) is on the diagonal of a skew-symmetric matrix and must be zero"));
  EXPECT_TRUE(
      contains(refusal("%%MatrixMarket matrix array real skew-symmetric\n2 2\n0\n5\nnan\n"), "line 5: entry (2, 2) is on the diagonal"));
  for (std::string const entries :
       {"coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 2 1 3\n", "array complex hermitian\n2 2\n1 0\n1 3\n1 -2\n"})
    EXPECT_TRUE(
        contains(refusal("%%MatrixMarket matrix " + entries), "entry (2, 2) is on the diagonal of a hermitian matrix and must be real"))
        << entries;
}

TEST_F(Market, FileThatIsTooShortIsFoundBeforeMemoryIsAskedFor) {
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix array real general\n100000 100000\n1\n"),
                       "line 3: the file ends after 1 of 10000000000 entries"));
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix coordinate pattern general\n9 9 4000000000000000000\n1 1\n2 2"),
                       "line 4: the file ends after 2 of 4000000000000000000 entries"));
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix array complex hermitian\n2000000 2000000\n"),
                       "line 2: the file ends after 0 of 2000001000000 entries"));
  EXPECT_TRUE(
      contains(refusal("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n"), "line 4: the file ends after 2 of 3 entries"));
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix array real general\n0 9223372036854775807\n"),
                       "m.mtx: an array of shape (0, 9223372036854775807) is too large"));
}

TEST_F(Market, LongWordsAreCutInMessages) {
  std::string const word(5'000'000, 'x'), cut = "'" + std::string(37, 'x') + "...'";
  std::string const head = "%%MatrixMarket matrix array real general\n";
  for (std::string const& text : {head + "1 1\n" + word, head + "1 " + word + "\n1\n", head + "1 1\n1 " + word,
                                  "%%MatrixMarket " + word + "\n", "%%MatrixMarket matrix array " + word + " general\n"}) {
    std::string const error = refusal(text);
    EXPECT_TRUE(contains(error.substr(0, 200), cut));
    EXPECT_LT(error.size(), 200U);
  }
  std::string const list = folder.write("long.txt", word);
  EXPECT_TRUE(contains(error_of([&] { (void)open_source(list); }).substr(0, 300), cut + " is too long for the name of a file"));
}

TEST_F(Market, NanIsWrittenWithoutASign) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<c64> const x{{-nan, nan}, {std::copysign(nan, -1.0), -1}};
  save_market(folder.path("x.mtx"), x.data(), 2, 1);
  EXPECT_TRUE(folder.read("x.mtx").ends_with("\nnan nan\nnan -1\n")) << folder.read("x.mtx");
}

TEST_F(Market, RoundTripsExactly) {
  std::vector<c64> const x{{0.1, -1e-300}, {1.0 / 3, 2}, {-0.0, 7}, {1e22, 3}, {4, 5}, {6, 7}};
  save_market(folder.path("x.mtx"), x.data(), 2, 3);
  EXPECT_EQ(read_all<c64>(*open_source(folder.path("x.mtx"))), x);
}

// Sets of files

TEST_F(Io, NaturalOrderComparesNumbers) {
  std::vector<std::string> names{"c10/A", "c9/A", "c1/A", "c/A", "c9-x/A", "c09/A", "b2"};
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_EQ(names, (std::vector<std::string>{"b2", "c/A", "c1/A", "c09/A", "c9/A", "c9-x/A", "c10/A"}));
  EXPECT_TRUE(natural_less("x99999999999999999999998", "x99999999999999999999999"));
  EXPECT_FALSE(natural_less("a", "a"));
}

TEST_F(Io, PatternIsABatchAndDifferentSizesMakeItRagged) {
  for (int k : {2, 10, 1}) {
    double const value[] = {static_cast<double>(k), 0, 0, 1};
    std::filesystem::create_directory(folder.path(std::to_string(k)));
    save_market(folder.path(std::to_string(k) + "/A.mtx"), value, 2, 2);
  }
  auto const source = open_source(folder.path("*/A.mtx"));
  EXPECT_EQ(source->count(), 3);
  EXPECT_FALSE(source->ragged());
  EXPECT_FALSE(source->single());
  EXPECT_EQ(source->file_of(2), folder.path("10/A.mtx"));
  EXPECT_EQ(source->folder_pattern(), folder.path("*"));
  EXPECT_EQ(read_all<double>(*source), (std::vector<double>{1, 0, 0, 1, 2, 0, 0, 1, 10, 0, 0, 1}));

  double const big[] = {1, 2, 3, 4, 5, 6};
  save_market(folder.path("2/A.mtx"), big, 3, 2);
  auto const ragged = open_source(folder.path("*/A.mtx"));
  EXPECT_TRUE(ragged->ragged());
  EXPECT_EQ(ragged->rows(), 3);
  EXPECT_EQ(ragged->rows_of(0), 2);
  EXPECT_EQ(read_all<double>(*ragged), (std::vector<double>{1, 0, 0, 1, 1, 2, 3, 4, 5, 6, 10, 0, 0, 1}));
  EXPECT_TRUE(contains(error_of([&] { (void)open_source(folder.path("*/B.mtx")); }), "no file matches"));

  std::string const list = folder.write("all.txt", "# cells\n" + folder.path("10/A.mtx") + "\r\n\n" + folder.path("1/A.mtx") + "\n");
  EXPECT_EQ(read_all<double>(*open_source(list)), (std::vector<double>{10, 0, 0, 1, 1, 0, 0, 1}));
  std::filesystem::rename(list, folder.path("cells"));
  EXPECT_EQ(open_source("@" + folder.path("cells"))->count(), 2);
  EXPECT_TRUE(contains(error_of([&] { (void)open_source(folder.write("none.txt", "# nothing\n")); }), "the list names no file"));
}

TEST_F(Io, WhatIsNoMatrixFileIsRefusedWithAReason) {
  auto const refusal = [&](std::string const& name) { return error_of([&] { (void)open_source(name); }); };
  EXPECT_TRUE(contains(refusal(folder.path("gone.npy")), "gone.npy: cannot be read: No such file or directory"));
  EXPECT_TRUE(contains(refusal(folder.path("")), "is a directory, not a file"));
  EXPECT_TRUE(contains(refusal(folder.write("empty.npy", "")), "the file is empty"));
  EXPECT_TRUE(contains(refusal(folder.write("text.npy", "1 2 3\n")), "text.npy: is neither an .npy file"));
  EXPECT_TRUE(contains(refusal(folder.write("a.npz", "PK\3\4")), "a.npz: is no .npz archive that can be read"));
  EXPECT_TRUE(contains(refusal(folder.write("a.mtx.gz", "\x1f\x8b")), "gzip"));
}

// Output

TEST_F(Io, OutputAppearsOnlyWhenItIsComplete) {
  std::string const path = folder.path("x.npy");
  {
    NpyWriter writer(path, "<f8", {2}, 8);
    double const one = 1;
    writer.append(&one, 8);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(folder.files().size(), 1U);
    EXPECT_TRUE(contains(error_of([&] { writer.commit(); }), "fewer elements"));
    EXPECT_TRUE(contains(error_of([&] { writer.append("0123456789abcdef", 16); }), "more elements"));
  }
  EXPECT_TRUE(folder.files().empty());

  folder.write("x.npy", "old");
  { OutputFile const abandoned(path); }
  EXPECT_EQ(folder.read("x.npy"), "old");
  OutputFile file(path);
  file.write_at(0, "new", 3);
  EXPECT_EQ(folder.read("x.npy"), "old");
  file.commit();
  EXPECT_EQ(folder.read("x.npy"), "new");
  EXPECT_EQ(folder.files().size(), 1U);
}

TEST_F(Io, OutputThatCannotBeWrittenIsFoundAtOnce) {
  EXPECT_TRUE(contains(error_of([&] { OutputFile{folder.path("no/x.npy")}; }), "no/x.npy: cannot be written: No such file or directory"));
  EXPECT_TRUE(contains(error_of([&] { OutputFile{folder.path("")}; }), "directory"));
  EXPECT_TRUE(contains(error_of([&] { OutputFile{"/dev/null"}; }), "not a regular file"));
  if (::geteuid() != 0) {
    std::filesystem::permissions(folder.write("fixed.npy", "x"), std::filesystem::perms::owner_read);
    EXPECT_TRUE(contains(error_of([&] { OutputFile{folder.path("fixed.npy")}; }), "Permission denied"));
  }
}

TEST_F(Io, OutputKeepsALinkAndChangesWhatItPointsTo) {
  folder.write("target.npy", "old");
  std::filesystem::create_symlink("target.npy", folder.path("link.npy"));
  OutputFile file(folder.path("link.npy"));
  file.write_at(0, "new", 3);
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link.npy")));
  EXPECT_EQ(folder.read("target.npy"), "new");
}

TEST_F(Io, SignalsRemoveUnfinishedOutput) {
  for (int const number : {SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGPIPE, SIGXCPU}) {
    EXPECT_EXIT(
        {
          for (int const former : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) std::signal(former, SIG_DFL);  // removes a sanitizer's handlers
          install_signal_cleanup();
          NpyWriter const writer(folder.path("x.npy"), "<f8", {1000}, 8);
          ::raise(number);
        },
        ::testing::KilledBySignal(number), "");
    EXPECT_TRUE(folder.files().empty()) << number;
  }
}

TEST_F(Io, SignalsThatWereIgnoredStaySo) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);  // as nohup does
        install_signal_cleanup();
        ::raise(SIGHUP);
        ::_exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

// .npz

struct Npz : Io {
  /// An archive written by the program, or one with deflated members.
  std::string write(std::string const& name, std::vector<std::pair<std::string, std::string>> const& arrays, bool deflated) {
    zipFile const zip = zipOpen64(folder.path(name).c_str(), APPEND_STATUS_CREATE);
    for (auto const& [member, bytes] : arrays) {
      zip_fileinfo const when{};
      zipOpenNewFileInZip64(zip, member.c_str(), &when, nullptr, 0, nullptr, 0, nullptr, deflated ? Z_DEFLATED : 0, 6, 0);
      zipWriteInFileInZip(zip, bytes.data(), static_cast<unsigned>(bytes.size()));
      zipCloseFileInZip(zip);
    }
    zipClose(zip, nullptr);
    return folder.path(name);
  }
  static std::string array(Shape const& shape, std::vector<double> const& values) { return npy_preamble("<f8", shape) + raw(values); }
  static std::string refusal(std::string const& name) {
    return error_of([&] { (void)open_source(name); });
  }
};

TEST_F(Npz, ArraysAreReadStoredAndDeflated) {
  std::vector<double> long_one(300'000);
  std::iota(long_one.begin(), long_one.end(), 0.5);
  for (bool const deflated : {false, true}) {
    std::string const one = write("one.npz", {{"notes.txt", "no array"}, {"a.npy", array({2, 1, 1}, {3, 4})}}, deflated);
    auto const source = open_source(one);
    EXPECT_EQ(source->count(), 2);
    EXPECT_EQ(read_all<double>(*source), (std::vector<double>{3, 4}));
    std::string const two = write("two.npz", {{"lu.npy", array({1, 300'000}, long_one)}, {"b.npy", array({2}, {5, 6})}}, deflated);
    EXPECT_EQ(read_all<double>(*open_source(two + ":lu")), long_one);
    auto const vector = open_source(two + ":b");
    EXPECT_TRUE(vector->vectors());
    EXPECT_EQ(vector->name(), two + ":b");
    vector->populate(0, 1);
    vector->release(0, 1);
    EXPECT_EQ(read_all<double>(*vector), (std::vector<double>{5, 6}));
    EXPECT_TRUE(contains(refusal(two), "the archive holds several arrays, 'lu', 'b'; name one, as in " + two + ":lu"));
    EXPECT_TRUE(contains(refusal(two + ":c"), "two.npz: has no array 'c'; there are 'lu', 'b'"));
  }
}

TEST_F(Npz, NumberedArraysAreABatch) {
  for (bool const deflated : {false, true}) {
    std::vector<std::pair<std::string, std::string>> arrays{{"x_0.npy", array({1, 1}, {7})}, {"x_1.npy", array({2, 2}, {1, 2, 3, 4})}};
    auto const source = open_source(write("x.npz", arrays, deflated));
    EXPECT_TRUE(source->ragged());
    EXPECT_FALSE(source->single());
    EXPECT_EQ(source->rows_of(1), 2);
    EXPECT_EQ(source->file_of(1), folder.path("x.npz:x_1"));
    EXPECT_EQ(read_all<double>(*source), (std::vector<double>{7, 1, 2, 3, 4}));
    arrays.emplace_back("y_0.npy", array({2}, {8, 9}));
    std::string const two = write("y.npz", arrays, deflated);
    EXPECT_EQ(open_source(two + ":x")->count(), 2);
    EXPECT_EQ(read_all<double>(*open_source(two + ":x_0")), std::vector<double>{7});
    EXPECT_TRUE(open_source(two + ":y")->vectors());
    EXPECT_TRUE(contains(refusal(two), "several arrays, 'x_0', 'x_1', 'y_0'; name one"));
    arrays[1].second = array({2}, {1, 2});
    EXPECT_TRUE(
        contains(refusal(write("mixed.npz", arrays, deflated) + ":x"), "mixed.npz:x_1: is shape (2,); the arrays of a set are all"));
  }
}

TEST_F(Npz, WhatIsDamagedIsRefused) {
  std::vector<double> const values{1, 2, 3, 4};
  std::string const object = "{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }";
  EXPECT_TRUE(contains(refusal(write("o.npz", {{"o.npy", npy_bytes(object, "12345678")}}, false)), "o.npz:o: holds Python objects"));
  EXPECT_TRUE(contains(refusal(write("t.npz", {{"t.npy", "hello"}}, true)), "t.npz:t: is not an .npy file"));
  EXPECT_TRUE(contains(refusal(write("s.npz", {{"s.npy", npy_preamble("<f8", {100'000, 100'000}) + raw(values)}}, true)),
                       "s.npz:s: the file is cut short: shape (100000, 100000) of '<f8' takes 80000000000 bytes, there are 32"));
  EXPECT_TRUE(contains(refusal(write("n.npz", {{"notes.txt", "no array"}}, false)), "the archive holds no array"));
  for (bool const deflated : {false, true}) {
    std::string const path = write("d.npz", {{"a.npy", array({2, 2}, values)}}, deflated);
    std::string const good = folder.read("d.npz");
    std::string bad = good;
    bad[bad.find(deflated ? "a.npy" : raw(values)) + (deflated ? 20 : 3)] ^= 1;
    folder.write("d.npz", bad);
    EXPECT_TRUE(contains(refusal(path), "d.npz:a: the archive is damaged: "));
    folder.write("d.npz", good.substr(0, good.size() / 2));
    EXPECT_TRUE(contains(refusal(path), "d.npz: is no .npz archive that can be read: it is damaged or cut short"));
    // Its directory claims that it unpacks to 2 GB.
    bad = good;
    bad.replace(bad.rfind("PK\1\2") + 24, 4, raw<std::uint32_t>({2'000'000'000}));
    folder.write("d.npz", bad);
    EXPECT_TRUE(contains(refusal(path), "d.npz:a: the archive is damaged: 2000000000 bytes are said to come from "));
  }
}

// Text for messages

TEST(Text, ShowsNothingThatATerminalObeys) {
  EXPECT_EQ(printable("plain, ~ and \\"), "plain, ~ and \\");
  EXPECT_EQ(printable("a\x1b[31m\n\t\x7f"), "a\\x1b[31m\\x0a\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("\0b", 2)), "\\x00b");
  EXPECT_EQ(printable("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");                                                 // CSI as one character
  EXPECT_EQ(printable("\xff\xc3(\xe2\x82"), "\\xff\\xc3(\\xe2\\x82");         // not UTF-8
  EXPECT_EQ(printable("\xc0\x9b\xed\xa0\x80"), "\\xc0\\x9b\\xed\\xa0\\x80");  // too long, surrogate
  EXPECT_EQ(excerpt(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(excerpt(std::string(41, 'x')), "'" + std::string(37, 'x') + "...'");
  EXPECT_EQ(excerpt(std::string(36, 'x') + "\xe2\x82\xac" + "yyy"), "'" + std::string(36, 'x') + "...'");
}

/// The members of an .npz and their bytes.
std::vector<std::pair<std::string, std::string>> members(std::string const& path) {
  std::vector<std::pair<std::string, std::string>> result;
  unzFile const zip = unzOpen64(path.c_str());
  if (!zip) return result;
  for (int status = unzGoToFirstFile(zip); status == UNZ_OK; status = unzGoToNextFile(zip)) {
    unz_file_info64 info{};
    std::array<char, 256> name{};
    unzGetCurrentFileInfo64(zip, &info, name.data(), name.size(), nullptr, 0, nullptr, 0);
    std::string bytes(info.uncompressed_size, '\0');
    unzOpenCurrentFile(zip);
    if (unzReadCurrentFile(zip, bytes.data(), static_cast<unsigned>(bytes.size())) < 0) bytes = "unreadable";
    if (unzCloseCurrentFile(zip) != UNZ_OK) bytes = "wrong checksum";
    result.emplace_back(name.data(), bytes);
  }
  unzClose(zip);
  return result;
}

TEST_F(Io, ResultsOfSeveralFieldsAreMembersOfAnArchive) {
  std::string const path = folder.path("f.npz");
  auto const shape = [](std::int64_t) { return Shape{2}; };
  ResultFile file(path, {{"lu", "<f8", 8, shape}, {"pivots", "<i4", 4, shape}}, {.count = 3});
  std::vector<double> const lu{1, 2, 3, 4, 5, 6};
  std::vector<std::int32_t> const pivots{1, 2, 3, 4, 5, 6};
  for (std::int64_t b = 0; b < 3; ++b) {
    std::array<void const*, 2> const data{lu.data() + 2 * b, pivots.data() + 2 * b};
    file.write(b, 1, data);
  }
  file.commit();
  auto const found = members(path);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].first, "lu.npy");
  EXPECT_EQ(found[0].second, npy_preamble("<f8", {3, 2}) + raw(lu));
  EXPECT_EQ(found[1].first, "pivots.npy");
  EXPECT_EQ(found[1].second, npy_preamble("<i4", {3, 2}) + raw(pivots));
  EXPECT_EQ(folder.files().size(), 1U);
}

TEST_F(Io, RaggedResultsAreOneMemberPerMatrix) {
  std::string const path = folder.path("f.npz");
  std::vector<Field> const fields{{"x", "<f8", 8, [](std::int64_t b) { return Shape{b + 1}; }}};
  ResultFile file(path, fields, {.count = 3, .ragged = true});
  std::vector<double> const x{1, 2, 3, 4, 5, 6};
  void const* data = x.data();
  file.write(0, 2, {&data, 1});
  data = x.data() + 3;
  file.write(2, 1, {&data, 1});
  file.commit();
  auto const found = members(path);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].second, npy_preamble("<f8", {1}) + raw<double>({1}));
  EXPECT_EQ(found[2].first, "x_2.npy");
  EXPECT_EQ(found[2].second, npy_preamble("<f8", {3}) + raw<double>({4, 5, 6}));
  EXPECT_TRUE(contains(error_of([&] { ResultFile(folder.path("f.npy"), fields, {.count = 3, .ragged = true}); }),
                       "differ in size, so the result is an .npz"));
}

TEST_F(Io, StackedFieldsLieOneBehindTheOther) {
  auto const shape = [](std::int64_t) { return Shape{}; };
  ResultFile file(folder.path("d.npy"), {{"sign", "<f8", 8, shape}, {"log", "<f8", 8, shape}}, {.count = 2, .fields_first = true});
  for (double b : {0.0, 1.0}) {
    double const sign = b, log = 10 + b;
    std::array<void const*, 2> const data{&sign, &log};
    file.write(static_cast<std::int64_t>(b), 1, data);
  }
  file.commit();
  EXPECT_EQ(folder.read("d.npy"), npy_preamble("<f8", {2, 2}) + raw<double>({0, 1, 10, 11}));
}

TEST_F(Io, ResultsAreWrittenByParts) {
  auto const shape = [](std::int64_t) { return Shape{2}; };
  auto const sizes = [](std::int64_t b) { return Shape{b % 2 + 1}; };
  std::vector<double> const x{1, 2, 3, 4, 5, 6};
  auto const at = [&](std::size_t k) { return static_cast<void const*>(x.data() + k); };
  for (bool const ragged : {false, true})
    for (char const* extension : {".npy", ".npz"}) {
      if (ragged && extension == std::string(".npy")) continue;
      std::vector<Field> const fields{{"x", "<f8", 8, ragged ? std::function<Shape(std::int64_t)>(sizes) : shape}};
      Layout const layout{.count = 3, .ragged = ragged};
      std::size_t const second = ragged ? 1 : 2, third = ragged ? 3 : 4;  // elements before these matrices
      std::string const whole = std::string("whole") + extension, parts = std::string("parts") + extension;
      ResultFile one(folder.path(whole), fields, layout);
      void const* data = at(0);
      one.write(0, 3, {&data, 1});
      one.commit();

      ResultFile first(folder.path(parts), fields, layout, Access::create);
      data = at(third);
      first.write(2, 1, {&data, 1});
      EXPECT_TRUE(contains(error_of([&] { first.commit(); }), "fewer elements"));
      ResultFile other(folder.path(parts), fields, layout, Access::join);
      data = at(0);
      first.add(other.write(0, 1, {&data, 1}));
      data = at(second);
      first.add(other.write(1, 1, {&data, 1}));
      EXPECT_FALSE(std::filesystem::exists(folder.path(parts)));
      first.commit();
      EXPECT_EQ(folder.read(parts), folder.read(whole)) << ragged;
      EXPECT_FALSE(std::filesystem::exists(folder.path(parts + ".part")));
      std::filesystem::remove(folder.path(parts));
    }
}

TEST_F(Io, AnUnfinishedFileOfSeveralRunsStays) {
  { OutputFile const unfinished(folder.path("x.npy"), Access::create); }
  EXPECT_EQ(folder.files(), std::vector<std::string>{"x.npy.part"});
  OutputFile(folder.path("x.npy"), Access::join).remove();
  EXPECT_TRUE(folder.files().empty());
  EXPECT_TRUE(contains(error_of([&] { OutputFile(folder.path("x.npy"), Access::join); }), "x.npy.part: cannot be written: No such file"));
}

TEST_F(Io, OutputIsWrittenByOneRun) {
  std::string const path = folder.path("x.npy");
  folder.write("x.npy.part", "left by a run that was killed");
  {
    OutputFile const first(path);
    for (Access const access : {Access::alone, Access::create, Access::resume})
      EXPECT_TRUE(contains(error_of([&] { OutputFile(path, access); }), "x.npy.part: another process is writing this output"));
    EXPECT_EQ(folder.read("x.npy.part"), "");
    OutputFile const of_the_same_run(path, Access::join);
  }
  EXPECT_TRUE(folder.files().empty());
  OutputFile file(path, Access::create);
  file.write_at(0, "new", 3);
  file.commit();
  OutputFile(path, Access::create).commit();
  EXPECT_EQ(folder.read("x.npy"), "");
  EXPECT_TRUE(
      contains(error_of([&] { OutputFile(path, Access::resume); }), "x.npy.part: is missing, with the matrices that an earlier run"));
}

TEST_F(Io, AnOutputThatAnEarlierRunHasLeftIsReplaced) {
  std::string const path = folder.path("x.npy");
  for (Access const access : {Access::alone, Access::create}) {
    OutputFile(path, Access::create).write_at(0, "first", 5);
    OutputFile late(path, Access::join);  // a rank that outlives rank 0
    FileIdentity const former = late.identity();
    OutputFile next(path, access);
    EXPECT_FALSE(is_same(former, next.identity()));
    next.write_at(0, "next", 4);
    late.write_at(0, "late", 4);
    EXPECT_TRUE(contains(error_of([&] { late.commit(); }), "x.npy: cannot be written: another run has replaced " + path + ".part"));
    late.remove();
    next.commit();
    EXPECT_EQ(folder.read("x.npy"), "next");
    EXPECT_EQ(folder.files(), std::vector<std::string>{"x.npy"});
  }
  EXPECT_TRUE(is_same({1, 2, 3}, {1, 2, 3}));
  EXPECT_FALSE(is_same({1, 2, 3}, {1, 2, 4}));
  EXPECT_FALSE(is_same({1, 2, 3}, {2, 2, 3}));
  EXPECT_TRUE(is_same({1, 0, 0}, {1, 2, 3}));  // one host does not tell the time
}

TEST_F(Io, FileSystemsWithoutLocksGiveEachRunItsOwnName) {
  std::string const path = folder.path("x.npy"), mine = path + "." + std::to_string(::getpid());
  for (int const reason : {ENOSYS, EOPNOTSUPP, ENOLCK}) {
    flock_errno = reason;
    {
      OutputFile first(path), second(path);
      EXPECT_EQ(first.temporary_path(), mine + "-0.part");
      EXPECT_EQ(second.temporary_path(), mine + "-1.part");
      first.write_at(0, "first", 5);
      second.write_at(0, "second", 6);
      first.commit();
      EXPECT_EQ(folder.read("x.npy"), "first");
      second.commit();
      EXPECT_EQ(folder.read("x.npy"), "second");
    }
    {
      OutputFile shared(path, Access::create);
      OutputFile const single(path);
      EXPECT_EQ(shared.temporary_path(), path + ".part");
      EXPECT_EQ(single.temporary_path(), mine + "-0.part");
      OutputFile(path, Access::create).commit();
      EXPECT_TRUE(contains(error_of([&] { shared.commit(); }), "another run has replaced"));
    }
    flock_errno = 0;
    EXPECT_EQ(folder.files(), std::vector<std::string>{"x.npy"});
  }
}

TEST_F(Io, ErrorsNameTheFileThatCannotBeWritten) {
  std::filesystem::create_directory(folder.path("x.npy.part"));
  for (Access const access : {Access::alone, Access::create})
    EXPECT_TRUE(contains(error_of([&] { OutputFile(folder.path("x.npy"), access); }), "x.npy.part: cannot be written: Is a directory"));
}

TEST_F(Io, SignalsWhileAnOutputBeginsOrEndsRemoveItAlone) {
  std::string const path = folder.path("x.npy");
  EXPECT_EXIT(
      {
        install_signal_cleanup();
        flock_signal = SIGTERM;
        OutputFile const file(path);
      },
      ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_TRUE(folder.files().empty());
  EXPECT_EXIT(
      {
        install_signal_cleanup();
        signal_before_rename = SIGTERM;
        OutputFile(path).commit();
      },
      ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_TRUE(folder.files().empty());
  EXPECT_EXIT(
      {
        install_signal_cleanup();
        signal_after_rename = SIGTERM;
        OutputFile(path).commit();
      },
      ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"x.npy", "x.npy.part"}));  // PATH.part is the next run's
}

TEST_F(Io, LargeArchivesAreZip64) {
  // minizip 1.1 does not read members this large, so the fields of APPNOTE.TXT 4.5.3 and 4.3.14 are looked for.
  std::uint64_t const large = std::uint64_t{5} << 30;
  StoredZip zip;
  zip.add("large", large);
  zip.add("small", 3);
  auto const number = [](std::uint64_t value) { return raw(std::vector<std::uint64_t>{value}); };
  std::string const sizes = std::string("\1\0\x10\0", 4) + number(large) + number(large);
  EXPECT_EQ(zip.contents_of(0), 30 + 5 + sizes.size());
  EXPECT_EQ(zip.header(0, "large", 1).substr(30), "large" + sizes);
  EXPECT_EQ(zip.header_of(1), zip.contents_of(0) + large);
  EXPECT_EQ(zip.header(1, "small", 1).substr(30), "small");
  std::string directory;
  std::array<std::uint32_t, 2> const checksums{1, 2};
  zip.write_directory([](std::size_t m) { return m == 0 ? "large" : "small"; }, checksums,
                      [&](std::uint64_t offset, std::string_view text) {
                        EXPECT_EQ(offset, zip.directory() + directory.size());
                        directory += text;
                      });
  EXPECT_TRUE(contains(directory, "large" + sizes + "PK\1\2"));
  EXPECT_TRUE(contains(directory, "small" + std::string("\1\0\x08\0", 4) + number(zip.header_of(1)) + "PK\6\6"));
  EXPECT_TRUE(contains(directory, number(2) + number(2) + number(directory.find("PK\6\6")) + number(zip.directory()) + "PK\6\7"));
}

TEST_F(Io, NameOfAResultTellsItsFormat) {
  std::vector<Field> const one{{"x", "<f8", 8, [](std::int64_t) { return Shape{}; }}};
  EXPECT_TRUE(contains(error_of([&] { ResultFile(folder.path("x.txt"), one, {}); }), "ends in .npy or .npz"));
  EXPECT_TRUE(contains(error_of([&] { ResultFile(folder.path("x.npy"), {one[0], one[0]}, {}); }), "give a name that ends in .npz"));
}

}  // namespace
}  // namespace myriad::io
