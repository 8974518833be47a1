/* Quantities as people read them. Base units stay in files. */
#ifndef LCP_UNITS_H
#define LCP_UNITS_H

#include <stddef.h>

#define LCP_UNIT_TEXT 32
typedef struct lcp_unit_text {
    char text[LCP_UNIT_TEXT];
} lcp_unit_text;

lcp_unit_text lcp_text_seconds(double seconds);                   /* 1.234 ms */
lcp_unit_text lcp_text_bytes(double bytes);                       /* 71.25 GiB */
lcp_unit_text lcp_text_count(double count);                       /* 70.55 G */
lcp_unit_text lcp_text_rate(double per_second, const char *unit); /* 989 Tflop/s, 450 GB/s */

#endif
