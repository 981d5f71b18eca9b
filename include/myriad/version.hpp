#pragma once
/// Version of the library; the build reads it from here.
#define MYRIAD_VERSION_MAJOR 0
#define MYRIAD_VERSION_MINOR 1
#define MYRIAD_VERSION_PATCH 0
#define MYRIAD_VERSION "0.1.0"
