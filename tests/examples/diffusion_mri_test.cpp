/// The diffusion MRI example: known tensors, a volume from a scanner, and bad files.

#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "diffusion_mri/denoise.hpp"
#include "diffusion_mri/nifti.hpp"
#include "diffusion_mri/phantom.hpp"
#include "diffusion_mri/picture.hpp"
#include "diffusion_mri/tensor_fit.hpp"
#include "diffusion_mri/tensor_shape.hpp"

namespace {

using namespace diffusion;
namespace fs = std::filesystem;

using Tensor = std::array<double, 6>;  // xx yy zz xy xz yz in 1e-3 mm^2/s

/// Tensor of voxel v: a different one for each, positive definite.
Tensor tensor(std::int64_t v) {
  double const s = 0.2 * std::sin(static_cast<double>(v)), c = 0.2 * std::cos(2.0 * static_cast<double>(v));
  return {1.5 + s, 0.7 + c, 0.4 - s / 2, 0.15 * s, 0.1 * c, -0.2 * s};
}

/// The model's signal for these tensors, without noise, in directions over a sphere.
Volume synthetic(std::int64_t voxels, std::int64_t directed) {
  Volume volume;
  volume.shape = {voxels, 1, 1};
  volume.b_values = {0};
  volume.directions = {{0, 0, 0}};
  for (std::int64_t m = 0; m < directed; ++m) {
    double const z = 1 - (2.0 * static_cast<double>(m) + 1) / static_cast<double>(directed), r = std::sqrt(1 - z * z);
    double const angle = static_cast<double>(m) * std::numbers::pi * (3 - std::sqrt(5.0));
    volume.b_values.push_back(m % 2 ? 1000 : 700);
    volume.directions.push_back({r * std::cos(angle), r * std::sin(angle), z});
  }
  for (std::int64_t m = 0; m <= directed; ++m)
    for (std::int64_t v = 0; v < voxels; ++v) {
      auto const [x, y, z] = volume.directions[m];
      auto const d = tensor(v);
      double const along = d[0] * x * x + d[1] * y * y + d[2] * z * z + 2 * (d[3] * x * y + d[4] * x * z + d[5] * y * z);
      volume.signal.push_back((500 + static_cast<double>(v)) * std::exp(-1e-3 * volume.b_values[m] * along));
    }
  return volume;
}

class TensorFit : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, TensorFit, testing::Values(Method::qr, Method::normal_equations),
                         [](auto const& p) { return p.param == Method::qr ? "Qr" : "NormalEquations"; });

TEST_P(TensorFit, FindsKnownTensors) {
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  for (std::int64_t const voxels : {1, 7, 130}) {
    Fit const fit = fit_tensors(queue, synthetic(voxels, 30), GetParam());
    for (std::int64_t v = 0; v < voxels; ++v) {
      ASSERT_EQ(fit.info[v], 0);
      EXPECT_NEAR(fit(v, 0), std::log(500 + static_cast<double>(v)), 1e-11);
      for (int j = 0; j < 6; ++j) EXPECT_NEAR(fit(v, j + 1), tensor(v)[j], 1e-11) << "voxel " << v << ", entry " << j;
    }
  }
}

TEST_P(TensorFit, WeightsStrongSignalsMore) {
  // One voxel whose weakest signal is doubled: the weighted fit hardly notices, since that signal has little weight.
  Volume volume = synthetic(1, 30);
  auto const weakest = std::min_element(volume.signal.begin(), volume.signal.end()) - volume.signal.begin();
  volume.signal[weakest] *= 2;
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  double const weighted = std::fabs(fit_tensors(queue, volume, GetParam())(0, 1) - tensor(0)[0]);

  std::vector<double> a, b;
  for (std::int64_t m = 0; m < volume.measurements(); ++m) {
    auto const [x, y, z] = volume.directions[m];
    double const s = 1e-3 * volume.b_values[m];
    for (double const e : {1.0, -s * x * x, -s * y * y, -s * z * z, -2 * s * x * y, -2 * s * x * z, -2 * s * y * z}) a.push_back(e);
    b.push_back(std::log(volume.signal[m]));
  }
  myriad::gels(queue, myriad::row_major(a.data(), volume.measurements(), unknowns), myriad::vectors(b.data(), volume.measurements(), 1),
               nullptr);
  double const plain = std::fabs(b[1] - tensor(0)[0]);
  EXPECT_LT(weighted, 0.6 * plain);
  EXPECT_GT(weighted, 0);
}

TEST(TensorFitErrors, NamesWhatIsMissing) {
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  EXPECT_THROW((void)fit_tensors(queue, synthetic(2, 5), Method::qr), std::invalid_argument);
  Volume dark = synthetic(2, 30);
  std::fill(dark.signal.begin(), dark.signal.end(), 0.0);
  EXPECT_THROW((void)fit_tensors(queue, dark, Method::qr), std::invalid_argument);
}

TEST(TensorShapes, KnowsSimpleTensors) {
  // A sphere, a line, a tensor with eigenvalues 5, 3, 1, the second along (1, 1, 0), and one that was not fitted
  std::vector<Tensor> const tensors{{2, 2, 2, 0, 0, 0}, {0, 0, 3, 0, 0, 0}, {2, 2, 5, 1, 0, 0}, {7, 7, 7, 0, 0, 0}};
  std::int64_t const voxels = 4;
  Fit fit{.voxels = voxels, .unknowns = std::vector<double>(unknowns * voxels), .info = {0, 0, 0, 7}};
  for (std::int64_t v = 0; v < voxels; ++v)
    for (int j = 0; j < 6; ++j) fit.unknowns[(j + 1) * voxels + v] = tensors[v][j];
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  TensorShapes const shapes(queue, fit);
  EXPECT_DOUBLE_EQ(shapes.mean_diffusivity(0), 2);
  EXPECT_NEAR(shapes.fractional_anisotropy(0), 0, 1e-15);
  EXPECT_DOUBLE_EQ(shapes.eigenvalue(0, 0), 2);
  EXPECT_NEAR(shapes.fractional_anisotropy(1), 1, 1e-15);
  EXPECT_NEAR(shapes.eigenvalue(1, 2), 3, 1e-14);
  EXPECT_NEAR(std::fabs(shapes.direction(1)[2]), 1, 1e-14);
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(shapes.eigenvalue(2, k), 1 + 2 * k, 1e-13);
  EXPECT_NEAR(shapes.fractional_anisotropy(2), std::sqrt(1.5 * 8 / 35.0), 1e-14);
  EXPECT_NEAR(std::fabs(shapes.direction(2)[2]), 1, 1e-14);
  EXPECT_TRUE(shapes.is_known(2));
  EXPECT_FALSE(shapes.is_known(3));
}

class PhantomFit : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, PhantomFit, testing::Values(Method::qr, Method::normal_equations),
                         [](auto const& p) { return p.param == Method::qr ? "Qr" : "NormalEquations"; });

TEST_P(PhantomFit, IsWhatItWasMadeOf) {
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  for (double const noise : {0.0, 0.02}) {
    Phantom const phantom = make_phantom(24, 2, noise, 5);
    Fit const fit = fit_tensors(queue, phantom.volume, GetParam());
    TensorShapes const shapes(queue, fit), truth(queue, phantom.truth);
    std::int64_t const voxels = phantom.volume.voxels();
    std::int64_t fibres = 0;
    double angles = 0;
    for (std::int64_t v = 0; v < voxels; ++v) {
      ASSERT_TRUE(shapes.is_known(v));
      EXPECT_NEAR(shapes.fractional_anisotropy(v), truth.fractional_anisotropy(v), noise == 0 ? 1e-7 : 0.25) << v;
      EXPECT_NEAR(shapes.mean_diffusivity(v), truth.mean_diffusivity(v), noise == 0 ? 1e-9 : 0.35) << v;
      if (!phantom.has_fibres[v]) continue;
      ++fibres;
      double cosine = 0;
      for (int i = 0; i < 3; ++i) cosine += shapes.direction(v)[i] * phantom.direction[i * voxels + v];
      angles += std::acos(std::min(std::fabs(cosine), 1.0)) * 180 / std::numbers::pi;
    }
    EXPECT_GT(fibres, voxels / 5);
    EXPECT_LT(fibres, voxels / 2);
    EXPECT_LT(angles / static_cast<double>(fibres), noise == 0 ? 1e-5 : 3);
  }
}
TEST(Phantoms, AreTheSameForTheSameSeed) {
  EXPECT_EQ(make_phantom(6, 1, 0.1, 3).volume.signal, make_phantom(6, 1, 0.1, 3).volume.signal);
  EXPECT_NE(make_phantom(6, 1, 0.1, 3).volume.signal, make_phantom(6, 1, 0.1, 4).volume.signal);
  EXPECT_THROW((void)make_phantom(0, 1, 0, 1), std::invalid_argument);
  EXPECT_THROW((void)make_phantom(4, 1, -1, 1), std::invalid_argument);
}

/// Signals of rank two with Gaussian noise.
Volume two_components(std::array<std::int64_t, 3> const& shape, std::int64_t measurements, double noise) {
  Volume volume;
  volume.shape = shape;
  volume.b_values.assign(measurements, 1000);
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (std::int64_t m = 0; m < measurements; ++m)
    for (std::int64_t v = 0; v < volume.voxels(); ++v) {
      double const place = static_cast<double>(v), angle = static_cast<double>(m);
      volume.signal.push_back(300 + 100 * std::sin(place) * std::cos(angle) + noise * normal(random));
    }
  return volume;
}

TEST(Neighbourhoods, EveryVoxelBelongsToTheNearest) {
  std::array<std::int64_t, 3> const shape{7, 5, 6};
  Volume places{.shape = shape, .b_values = {0, 0}};
  for (std::int64_t v = 0; v < 2 * places.voxels(); ++v) places.signal.push_back(static_cast<double>(v));
  for (std::int64_t const patch : {3, 5}) {
    Neighbourhoods const neighbourhoods(shape, patch);
    EXPECT_EQ(neighbourhoods.count(), (8 - patch) * (6 - patch) * (7 - patch));
    std::vector<double> matrix(2 * neighbourhoods.rows());
    std::vector<int> visits(places.voxels());
    for (std::int64_t i = 0; i < neighbourhoods.count(); ++i) {
      neighbourhoods.gather(places, i, matrix.data());
      auto const column = matrix.begin() + neighbourhoods.rows();
      auto const middle = static_cast<std::int64_t>(matrix[neighbourhoods.rows() / 2]);
      auto const position = [&](std::int64_t v) { return std::array{v % shape[0], v / shape[0] % shape[1], v / (shape[0] * shape[1])}; };
      neighbourhoods.for_each_voxel(i, [&](std::int64_t v) {
        ++visits[v];
        EXPECT_EQ(std::count(matrix.begin(), column, static_cast<double>(v)), 1);
        EXPECT_EQ(std::count(column, matrix.end(), static_cast<double>(v + places.voxels())), 1);
        for (std::size_t d = 0; d < 3; ++d)
          EXPECT_EQ(position(middle)[d], std::clamp(position(v)[d], patch / 2, shape[d] - 1 - patch / 2)) << v;
      });
    }
    EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), places.voxels());
  }
}

TEST(SeparateNoise, FindsTheEdge) {
  // Nothing but signal, zeros, and squares spread evenly over a width that noise may have
  EXPECT_EQ(separate_noise(std::vector<double>{5, 2, 0, 0}, 4, 9).components, 2);
  EXPECT_EQ(separate_noise(std::vector<double>{5, 2, 0, 0}, 4, 9).noise, 0);
  EXPECT_EQ(separate_noise(std::vector<double>{0, 0, 0}, 3, 3).components, 0);
  std::vector<double> values{100};
  for (double const square : {13.0, 10.0, 7.0}) values.push_back(std::sqrt(square));
  Spectrum const spectrum = separate_noise(values, 9, 4);
  EXPECT_EQ(spectrum.components, 1);
  EXPECT_DOUBLE_EQ(spectrum.noise, std::sqrt(30.0 / (3 * 8)));
}

TEST(Denoising, FindsComponentsAndNoise) {
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  for (auto const& [patch, measurements] : {std::pair<std::int64_t, std::int64_t>{5, 40}, {3, 40}, {3, 20}}) {
    Volume const volume = two_components({7, 8, 6}, measurements, 10), clean = two_components({7, 8, 6}, measurements, 0);
    Denoised const denoised = denoise(queue, volume, {.patch = patch});
    EXPECT_EQ(denoised.unsolved, 0);
    double noise = 0, before = 0, after = 0;
    std::int64_t right = 0;
    for (Spectrum const& spectrum : denoised.of_voxels) {
      noise += spectrum.noise / static_cast<double>(volume.voxels());
      right += spectrum.components == 2;
    }
    for (std::size_t e = 0; e < volume.signal.size(); ++e) {
      before += std::pow(volume.signal[e] - clean.signal[e], 2);
      after += std::pow(denoised.signal[e] - clean.signal[e], 2);
    }
    EXPECT_NEAR(noise, 10, patch == 5 ? 0.2 : 0.3) << patch << ", " << measurements;
    EXPECT_GT(right, volume.voxels() * 3 / 4) << patch << ", " << measurements;
    EXPECT_LT(after, (patch == 5 ? 0.12 : 0.3) * before) << patch << ", " << measurements;
  }
}

TEST(Denoising, FindsTheNoiseOfAPhantom) {
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  Volume const clean = make_phantom(16, 5, 0, 1).volume;
  for (double const level : {0.01, 0.03}) {
    Phantom const phantom = make_phantom(16, 5, level, 1);
    EXPECT_EQ(phantom.noise, 1000 * level);
    Denoised const denoised = denoise(queue, phantom.volume, {});
    std::vector<double> noise;
    for (Spectrum const& spectrum : denoised.of_voxels) noise.push_back(spectrum.noise);
    std::nth_element(noise.begin(), noise.begin() + clean.voxels() / 2, noise.end());
    EXPECT_NEAR(noise[clean.voxels() / 2] / phantom.noise, 1, 0.03);
    double before = 0, after = 0;
    for (std::size_t e = 0; e < clean.signal.size(); ++e) {
      before += std::pow(phantom.volume.signal[e] - clean.signal[e], 2);
      after += std::pow(denoised.signal[e] - clean.signal[e], 2);
    }
    EXPECT_LT(after, 0.2 * before);
  }
}

TEST(Denoising, DoesNotDependOnBatches) {
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  Volume const volume = two_components({6, 5, 4}, 12, 10);
  Denoised const whole = denoise(queue, volume, {.patch = 3});
  for (std::int64_t const memory : {std::int64_t{1}, std::int64_t{8} * 5 * (27 * 12 + 12 + 12 * 12)}) {  // one matrix, and five
    std::vector<std::int64_t> progress;
    Denoised const parts = denoise(queue, volume, {.patch = 3, .memory = memory, .progress = [&](std::int64_t done, std::int64_t total) {
                                                     EXPECT_EQ(total, 24);
                                                     progress.push_back(done);
                                                   }});
    EXPECT_EQ(parts.signal, whole.signal);
    EXPECT_EQ(progress.size(), memory == 1 ? 24U : 5U);
    EXPECT_EQ(progress.back(), 24);
  }
}

TEST(Denoising, KeepsSignalsAroundNaN) {
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  Volume volume = two_components({9, 3, 3}, 12, 10);
  Denoised const good = denoise(queue, volume, {.patch = 3});
  volume.signal[0] = std::numeric_limits<double>::quiet_NaN();  // in the neighbourhood of x = 0 and 1 only
  Denoised const denoised = denoise(queue, volume, {.patch = 3});
  EXPECT_EQ(denoised.unsolved, 2 * 9);
  for (std::int64_t v = 0; v < volume.voxels(); ++v) {
    bool const spoiled = v % 9 < 2;
    EXPECT_EQ(std::isnan(denoised.of_voxels[v].noise), spoiled) << v;
    for (std::int64_t m = 0; m < 12; ++m) {
      if (v == 0 && m == 0) continue;  // the NaN itself
      std::int64_t const e = m * volume.voxels() + v;
      EXPECT_EQ(denoised.signal[e], spoiled ? volume.signal[e] : good.signal[e]) << v;
    }
  }
}

TEST(Denoising, NamesBadInput) {
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  auto const message = [&](Volume const& volume, DenoiseOptions const& options) -> std::string {
    try {
      (void)denoise(queue, volume, options);
    } catch (std::invalid_argument const& error) {
      return error.what();
    }
    return "no error";
  };
  Volume const volume = two_components({6, 5, 4}, 3, 1);
  for (std::int64_t const patch : {-3, 0, 1, 4}) EXPECT_NE(message(volume, {.patch = patch}).find("odd number"), std::string::npos);
  EXPECT_NE(message(volume, {.patch = 5}).find("does not fit a volume of 6 x 5 x 4"), std::string::npos);
  EXPECT_NE(message(volume, {.patch = 3, .memory = 0}).find("memory"), std::string::npos);
  EXPECT_NE(message(two_components({6, 5, 4}, 1, 1), {.patch = 3}).find("at least two measurements"), std::string::npos);
}

using Colour = std::array<int, 3>;

/// The pixels of a PNG file, which is removed.
struct Pixels {
  int width = 0, height = 0;
  std::vector<png_byte> rgb;

  explicit Pixels(fs::path const& path) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    EXPECT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
    image.format = PNG_FORMAT_RGB;
    rgb.resize(PNG_IMAGE_SIZE(image));
    EXPECT_NE(png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr), 0) << image.message;
    width = static_cast<int>(image.width);
    height = static_cast<int>(image.height);
    fs::remove(path);
  }
  [[nodiscard]] Colour operator()(int line, int column) const {
    auto const* const at = &rgb[static_cast<std::size_t>(3 * (line * width + column))];
    return {at[0], at[1], at[2]};
  }
};

fs::path picture_path() { return fs::temp_directory_path() / ("myriad-picture-" + std::to_string(::getpid()) + ".png"); }

TEST(Picture, HasTheColoursOfTheDirections) {
  // Along z: a sphere, a line along x and a line along y
  Fit fit{.voxels = 3, .unknowns = std::vector<double>(unknowns * 3), .info = {0, 0, 0}};
  for (int j : {1, 2, 3}) fit.unknowns[j * 3] = 1;
  fit.unknowns[1 * 3 + 1] = fit.unknowns[2 * 3 + 2] = 2;
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  fs::path const path = picture_path();
  draw_anisotropy(path, {1, 1, 3}, TensorShapes(queue, fit), 2);
  Pixels const picture(path);
  ASSERT_EQ(picture.width, 10);
  ASSERT_EQ(picture.height, 6);
  EXPECT_EQ(picture(0, 0), (Colour{0, 0, 0}));
  EXPECT_EQ(picture(1, 4), (Colour{255, 255, 255}));
  EXPECT_EQ(picture(4, 5), (Colour{255, 0, 0}));
  EXPECT_EQ(picture(5, 9), (Colour{0, 255, 0}));
  EXPECT_EQ(picture(0, 2), (Colour{255, 255, 255}));  // between slices
  EXPECT_THROW(draw_anisotropy("/dev/null/picture.png", {1, 1, 3}, TensorShapes(queue, fit), 1), std::runtime_error);
}

TEST(Picture, HasTheSliceBeforeAndAfterAndTheDifference) {
  // Two slices of 2 x 1 voxels and two measurements; the last slice of the last measurement is drawn
  Volume const before{.shape = {2, 1, 2}, .b_values = {0, 1000}, .signal = {9, 9, 9, 9, 9, 9, 2, 4}};
  std::vector<double> const after{0, 0, 0, 0, 0, 0, 4, 1};
  fs::path const path = picture_path();
  draw_denoising(path, before, after, 1, 1, 1, 2);
  Pixels const picture(path);
  ASSERT_EQ(picture.width, 2 * (3 * 2 + 2));
  ASSERT_EQ(picture.height, 2);
  auto const gray = [](int x) { return Colour{x, x, x}; };
  EXPECT_EQ(picture(0, 0), gray(128));
  EXPECT_EQ(picture(1, 2), gray(255));
  EXPECT_EQ(picture(0, 6), gray(255));
  EXPECT_EQ(picture(0, 8), gray(64));
  EXPECT_EQ(picture(1, 12), gray(43));  // two noise levels were added
  EXPECT_EQ(picture(1, 14), gray(255));
}

TEST(ScannedVolume, BothMethodsAgreeAndTheValuesArePlausible) {
  fs::path const folder = fs::path(MYRIAD_SHARED_DATA) / "dmri";
  if (!fs::exists(folder)) GTEST_SKIP() << "needs " << folder << ", which is not here";
  Volume const volume = read_volume(folder / "small_64D.nii", folder / "small_64D.bval", folder / "small_64D.bvec");
  ASSERT_EQ(volume.voxels(), 1000);
  ASSERT_EQ(volume.measurements(), 65);
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  Fit const qr = fit_tensors(queue, volume, Method::qr), normal = fit_tensors(queue, volume, Method::normal_equations);
  TensorShapes const shapes(queue, qr);
  std::vector<double> mean;
  for (std::int64_t v = 0; v < 1000; ++v) {
    ASSERT_EQ(qr.info[v], 0);
    ASSERT_EQ(normal.info[v], 0);
    for (int j = 0; j < unknowns; ++j) ASSERT_NEAR(qr(v, j), normal(v, j), 1e-10) << "voxel " << v;
    ASSERT_TRUE(shapes.is_known(v));
    mean.push_back(shapes.mean_diffusivity(v));
    ASSERT_NEAR(qr(v, 1) + qr(v, 2) + qr(v, 3), 3 * mean.back(), 1e-12);  // the trace
    ASSERT_GE(shapes.fractional_anisotropy(v), 0);
    ASSERT_LE(shapes.eigenvalue(v, 0), shapes.eigenvalue(v, 2));
  }
  std::nth_element(mean.begin(), mean.begin() + 500, mean.end());
  EXPECT_GT(mean[500], 0.6);  // brain tissue: around 0.8e-3 mm^2/s
  EXPECT_LT(mean[500], 1.1);
}

TEST(ScannedVolume, LosesNoiseOnly) {
  fs::path const folder = fs::path(MYRIAD_SHARED_DATA) / "dmri";
  if (!fs::exists(folder)) GTEST_SKIP() << "needs " << folder << ", which is not here";
  Volume const volume = read_volume(folder / "small_64D.nii", folder / "small_64D.bval", folder / "small_64D.bvec");
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  Denoised const denoised = denoise(queue, volume, {});
  EXPECT_EQ(denoised.neighbourhoods, 6 * 6 * 6);
  double variance = 0, removed = 0;
  for (Spectrum const& spectrum : denoised.of_voxels) {
    variance += spectrum.noise * spectrum.noise / 1000;
    EXPECT_GT(spectrum.components, 0);
    EXPECT_LT(spectrum.components, 20);
  }
  for (std::size_t e = 0; e < volume.signal.size(); ++e) removed += std::pow(volume.signal[e] - denoised.signal[e], 2) / 65000;
  // The part of the noise in the components that are kept, some 9 of 65 by measurements and of 125 by voxels, stays.
  EXPECT_GT(removed / variance, 0.7);
  EXPECT_LT(removed / variance, 0.9);
}

/// A folder for each test, removed at the end.
class VolumeFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("myriad-volume-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    std::vector<char> image(352 + 2 * 2 * 3, 0);
    auto const put = [&](std::size_t offset, auto value) { std::memcpy(&image[offset], &value, sizeof value); };
    put(0, std::int32_t{348});
    for (int d = 0; std::int16_t const extent : {4, 2, 1, 1, 3}) put(40 + 2 * d++, extent);
    put(70, std::int16_t{4});
    put(108, 352.0F);
    std::memcpy(&image[344], "n+1", 4);
    for (std::int16_t e = 0; e < 6; ++e) put(352 + 2 * e, std::int16_t(10 * e));
    write("v.nii", {image.begin(), image.end()});
    write("v.bval", "0 1000 900\n");
    write("v.bvec", "nan nan nan\n1 0 0\n0 1 0\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(char const* name, std::string const& text) const { std::ofstream(folder_ / name, std::ios::binary) << text; }
  [[nodiscard]] std::string read(char const* name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] Volume volume() const { return read_volume(folder_ / "v.nii", folder_ / "v.bval", folder_ / "v.bvec"); }
  [[nodiscard]] std::string message() const {
    try {
      (void)volume();
    } catch (std::runtime_error const& error) {
      return error.what();
    }
    return "no error";
  }

  fs::path folder_;
};

TEST_F(VolumeFiles, AreRead) {
  Volume const v = volume();
  EXPECT_EQ(v.voxels(), 2);
  EXPECT_EQ(v.signal, (std::vector<double>{0, 10, 20, 30, 40, 50}));
  EXPECT_EQ(v.b_values, (std::vector<double>{0, 1000, 900}));
  EXPECT_EQ(v.directions[0], (std::array<double, 3>{0, 0, 0}));
  EXPECT_EQ(v.directions[2], (std::array<double, 3>{0, 1, 0}));
}

TEST_F(VolumeFiles, AreWritten) {
  std::string original = read("v.nii");
  float const slope = 2, intercept = 5;  // of the file that was read, not of the one that is written
  std::memcpy(&original[112], &slope, sizeof slope);
  std::memcpy(&original[116], &intercept, sizeof intercept);
  original.replace(148, 4, "text");  // part of the header that is kept
  original.insert(352, 16, 'e');     // an extension
  float const offset = 368;
  std::memcpy(&original[108], &offset, sizeof offset);
  write("v.nii", original);
  Volume const source = volume();
  EXPECT_EQ(source.signal[1], 25);
  std::vector<double> const signal{0.5, -1, 1e-3F, 3e4, 1e10F, 7};
  write_signal(folder_ / "v.nii", source, signal);
  EXPECT_EQ(volume().signal, signal);
  std::string const written = read("v.nii");
  EXPECT_EQ(written.size(), 368U + 6 * 4);
  EXPECT_EQ(written.substr(148, 4), "text");
  EXPECT_EQ(written.substr(352, 16), std::string(16, 'e'));

  Volume without_file = source;
  without_file.header.clear();
  write_signal(folder_ / "v.nii", without_file, signal);
  EXPECT_EQ(volume().signal, signal);
  EXPECT_EQ(volume().shape, source.shape);
  EXPECT_EQ(read("v.nii").size(), 352U + 6 * 4);
  EXPECT_THROW(write_signal(folder_ / "missing" / "v.nii", source, signal), std::runtime_error);
}

TEST_F(VolumeFiles, WrongOnesAreNamed) {
  std::string const good = read("v.nii");
  write("v.nii", good.substr(0, good.size() - 1));
  EXPECT_NE(message().find("v.nii: ends before"), std::string::npos) << message();
  write("v.nii", "not an image");
  EXPECT_NE(message().find("v.nii: is not"), std::string::npos) << message();
  std::string floats = good;
  floats[70] = 16;
  write("v.nii", floats);
  EXPECT_NE(message().find("v.nii: ends before"), std::string::npos) << message();
  std::string doubles = good;
  doubles[70] = 64;
  write("v.nii", doubles);
  EXPECT_NE(message().find("data type"), std::string::npos) << message();
  std::string negative = good;  // two dimensions whose product is right
  for (std::size_t const d : {1, 2}) {
    auto const extent = static_cast<std::int16_t>(-d);
    std::memcpy(&negative[40 + 2 * d], &extent, sizeof extent);
  }
  write("v.nii", negative);
  EXPECT_NE(message().find("v.nii: has a dimension that is empty or negative"), std::string::npos) << message();
  write("v.nii", good);
  write("v.bval", "0 1000\n");
  EXPECT_NE(message().find("v.bval: has 2 b-values for 3"), std::string::npos) << message();
  write("v.bval", "0 many 900\n");
  EXPECT_NE(message().find("'many' is not a number"), std::string::npos) << message();
  write("v.bval", "0 1000 900\n");
  write("v.bvec", "nan nan nan\n1 0 0\nnan nan nan\n");
  EXPECT_NE(message().find("no direction for measurement 3"), std::string::npos) << message();
  write("v.bvec", "0 0 0\n1 0 0\n");
  EXPECT_NE(message().find("v.bvec: does not hold three numbers"), std::string::npos) << message();
}

}  // namespace
