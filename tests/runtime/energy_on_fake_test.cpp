/// The energy meter of the GPU benchmark, on a fake NVML (fake_nvml.cpp).

#include <gtest/gtest.h>

#include "gpu/peers.hpp"

namespace myriad::bench {
namespace {

Device device(int ordinal, unsigned char first_byte_of_uuid) {
  Device out;
  out.ordinal = ordinal;
  out.uuid = {first_byte_of_uuid, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
  return out;
}

TEST(EnergyMeter, IsThatOfTheGpuWhateverItsNumberIs) {
  // With CUDA_VISIBLE_DEVICES=1 the second GPU of the machine is number 0 of CUDA.
  EXPECT_EQ(EnergyMeter(device(0, 0x01)).joules(), 2);
  EXPECT_EQ(EnergyMeter(device(0, 0x00)).joules(), 1);
  EXPECT_EQ(EnergyMeter(device(1, 0x00)).joules(), 1);
  EXPECT_EQ(EnergyMeter(device(0, 0x02)).joules(), 0);  // unknown to NVML, like a part of a GPU
}

}  // namespace
}  // namespace myriad::bench
