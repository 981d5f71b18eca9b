/* Symbols that the shared library exports. C and C++; included by every public header. */
#ifndef MYRIAD_EXPORT_H
#define MYRIAD_EXPORT_H

/* Marks what users may call. The library is built with hidden visibility; thrown types are marked too, so that a catch in another shared
 * object recognises them. */
#if defined(__GNUC__)
#define MYRIAD_API __attribute__((visibility("default")))
#else
#define MYRIAD_API
#endif

#endif
