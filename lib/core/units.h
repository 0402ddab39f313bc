#ifndef LIB_CORE_UNITS_H
#define LIB_CORE_UNITS_H
/* Numbers with units, read strictly and written for people. Nothing allocates. */
#include "lib/core/base.h"

/* Each returns 0, or -1 when @s is not wholly such a number or does not fit. */
int parse_uint(const char *s, uint64_t *ret) MUST_CHECK;	/* 16 0x10; 010 is ten */
int parse_size(const char *s, uint64_t *ret_bytes) MUST_CHECK;	/* 8 64K 1.5M 1GiB 1T; K is 1024 */
int parse_duration(const char *s, uint64_t *ret_ns) MUST_CHECK; /* 1.5 (s) 500ms 10s 2m 1h 1d */
int parse_double(const char *s, double *ret) MUST_CHECK;	/* finite only */

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

uint64_t now_ns(void); /* CLOCK_MONOTONIC */
/* For poll(): so long until then, rounded up; 0 once it has come. What is weeks away is as far as
 * an int goes, and never the -1 that waits for ever. */
int ms_until(uint64_t at_ns);

/* Write into the caller's buffer and return it. */
struct unit_buf {
	char s[32];
};
const char *format_size(struct unit_buf *b, uint64_t bytes);  /* "64 KiB" */
const char *format_mbps(struct unit_buf *b, uint64_t mbps);   /* "25 Gb/s" */
const char *format_duration(struct unit_buf *b, uint64_t ns); /* "1.2 ms" */
const char *format_number(struct unit_buf *b, double v);      /* "0.02395", "118775": four digits */
/* "460.12", "1.10" GB/s, with two decimals, as nccl-tests has it; "0.125", "0.0119": below 1 as
 * many as make three digits, so that no network is 0.00 and no limit 0.0. */
const char *format_rate(struct unit_buf *b, double gbps);

#endif
