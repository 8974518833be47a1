/* Parts of the SVG timeline. */
#ifndef LCP_TIMELINE_SVG_H
#define LCP_TIMELINE_SVG_H

#include "simulation.h"

#include <stdbool.h>

/* Text that grows; `failed` once memory ran out. */
typedef struct lcp_svg {
    char *text;
    size_t used, room;
    bool failed;
    const lcp_simulated *s;
    double left, width, top; /* of the plot, in pixels */
    double lane, gap;        /* height of a rank and what is between two */
    double end_seconds;      /* at the right edge */
} lcp_svg;
void lcp_svg_print(lcp_svg *svg, const char *format, ...) LCP_PRINTF(2, 3);
double lcp_svg_x(const lcp_svg *svg, double seconds);

/* Nice step for about `count` ticks up to `end`. */
double lcp_svg_step(double end, int32_t count);

const char *lcp_svg_colour(lcp_op_kind kind);

/* Passes of every rank from svg->top on; returns the y below. */
double lcp_svg_lanes(lcp_svg *svg);
/* Vertical lines and their labels in seconds, from y to bottom. */
void lcp_svg_time_axis(lcp_svg *svg, double y, double bottom);
/* Memory of every rank, or of the fullest and emptiest if there are many; returns the y below. */
double lcp_svg_memory(lcp_svg *svg, double y);

#endif
