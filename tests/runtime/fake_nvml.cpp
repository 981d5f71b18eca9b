/// A fake libnvidia-ml.so.1: two GPUs, whose UUIDs begin with 00 and 01 and whose meters show 1 and 2 joules. Like the real one, it numbers
/// both regardless of CUDA_VISIBLE_DEVICES.

#include <string_view>

namespace {

constexpr int success = 0, not_found = 6;
int gpus[2] = {1, 2};

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int nvmlInit_v2() { return success; }
FAKE int nvmlShutdown() { return success; }
FAKE int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index > 1) return not_found;
  *device = &gpus[index];
  return success;
}
FAKE int nvmlDeviceGetHandleByUUID(char const* uuid, void** device) {
  constexpr std::string_view known[] = {"GPU-00112233-4455-6677-8899-aabbccddeeff", "GPU-01112233-4455-6677-8899-aabbccddeeff"};
  for (int i = 0; i < 2; ++i)
    if (uuid == known[i]) {
      *device = &gpus[i];
      return success;
    }
  return not_found;
}
FAKE int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = static_cast<unsigned long long>(*static_cast<int*>(device)) * 1000;
  return success;
}
