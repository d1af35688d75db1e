/* TD_SANITIZED: whether the address sanitizer is compiled in. Nothing is then rounded up, cached or recycled, so that it
 * sees the first byte behind a block and the first use after the end of one. */
#ifndef TREADLE_SANITIZER_H
#define TREADLE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define TD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TD_SANITIZED 1
#endif
#endif
#ifndef TD_SANITIZED
#define TD_SANITIZED 0
#endif

#endif
