/* Memory over time under the lanes: an area for each rank, or a band over all of them. */
#include "timeline_svg.h"

#include <stdlib.h>

#define COLUMNS 1040

typedef struct band {
    double *low, *high; /* [COLUMNS] over ranks, in bytes */
} band;

/* The most that a rank holds in each column: its level lasts until its next pass starts. */
static void levels(const lcp_svg *svg, int32_t rank, double *out)
{
    const lcp_replay *replay = &svg->s->replay;
    const lcp_op *ops = svg->s->schedule.ops[rank];
    double column = svg->end_seconds / COLUMNS;
    double now = (double)svg->s->memory.static_bytes[rank];
    int32_t c = 0;
    for (int32_t i = 0; i < svg->s->schedule.op_count[rank]; i++) {
        int64_t at = replay->rank_first[rank] + i;
        if (ops[i].kind == LCP_OP_OFFLOAD || ops[i].kind == LCP_OP_RELOAD) {
            continue;
        }
        for (; c < COLUMNS && (c + 1) * column <= replay->start_seconds[at]; c++) {
            out[c] = now > out[c] ? now : out[c];
        }
        now = (double)svg->s->level_bytes[at];
        if (c < COLUMNS && now > out[c]) {
            out[c] = now;
        }
    }
    for (; c < COLUMNS; c++) {
        out[c] = now > out[c] ? now : out[c];
    }
}

static void line_points(lcp_svg *svg, const double *values, double bottom, double scale, bool backwards)
{
    double before = -1;
    for (int32_t i = 0; i < COLUMNS; i++) {
        int32_t c = backwards ? COLUMNS - 1 - i : i;
        bool turn = i == 0 || i == COLUMNS - 1 || values[c] < before || values[c] > before;
        if (turn) {
            double x = svg->left + svg->width * (c + (i == COLUMNS - 1 && !backwards ? 1 : 0)) / COLUMNS;
            if (before >= 0) {
                lcp_svg_print(svg, "%.1f,%.1f ", x, bottom - before * scale);
            }
            lcp_svg_print(svg, "%.1f,%.1f ", x, bottom - values[c] * scale);
        }
        before = values[c];
    }
}

static double gigabytes(double bytes)
{
    return bytes / 1e9;
}

static double largest_peak(const lcp_simulated *s)
{
    double most = 0;
    for (int32_t r = 0; r < s->schedule.rank_count; r++) {
        double peak = (double)s->peaks[r].peak_bytes;
        most = peak > most ? peak : most;
    }
    return most;
}

/* The frame of one plot: bottom line, capacity, and the top of the axis. */
static void frame(lcp_svg *svg, double y, double height, double most)
{
    double capacity = (double)svg->s->capacity_bytes;
    lcp_svg_print(svg, "<line class=\"axis\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>", svg->left,
                  svg->left + svg->width, y + height, y + height);
    if (capacity <= most) {
        double at = y + height - height * capacity / most;
        lcp_svg_print(svg,
                      "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#cc3311\" "
                      "stroke-dasharray=\"5 3\"/>\n",
                      svg->left, svg->left + svg->width, at, at);
    }
}

static void areas(lcp_svg *svg, double y, double most, double *values)
{
    const double height = 42;
    for (int32_t r = 0; r < svg->s->schedule.rank_count; r++) {
        double bottom = y + height;
        for (int32_t c = 0; c < COLUMNS; c++) {
            values[c] = 0;
        }
        levels(svg, r, values);
        lcp_svg_print(svg, "<polygon fill=\"#888\" fill-opacity=\".45\" stroke=\"#555\" points=\"%.1f,%.1f ", svg->left,
                      bottom);
        line_points(svg, values, bottom, height / most, false);
        lcp_svg_print(svg, "%.1f,%.1f\"/>\n", svg->left + svg->width, bottom);
        frame(svg, y, height, most);
        lcp_svg_print(svg, "<text class=\"end\" x=\"%.0f\" y=\"%.1f\">rank %d</text>", svg->left - 8, bottom - 4, r);
        lcp_svg_print(svg, "<text class=\"small end\" x=\"%.0f\" y=\"%.1f\">%.3g GB</text>", svg->left - 8, y + 8,
                      gigabytes(most));
        lcp_svg_print(svg, "<text x=\"%.0f\" y=\"%.1f\">peak %.1f GB</text>\n", svg->left + svg->width + 8, bottom - 4,
                      gigabytes((double)svg->s->peaks[r].peak_bytes));
        y += height + 10;
    }
}

static int32_t fullest(const lcp_simulated *s)
{
    int32_t rank = 0;
    for (int32_t r = 1; r < s->schedule.rank_count; r++) {
        rank = s->peaks[r].peak_bytes > s->peaks[rank].peak_bytes ? r : rank;
    }
    return rank;
}

/* Between the rank that holds least at a time and the one that holds most, and the line of the fullest rank. */
static void envelope(lcp_svg *svg, double y, double most, double *values)
{
    const double height = 180;
    band b = {values + COLUMNS, values + 2 * COLUMNS};
    for (int32_t r = 0; r < svg->s->schedule.rank_count; r++) {
        for (int32_t c = 0; c < COLUMNS; c++) {
            values[c] = 0;
        }
        levels(svg, r, values);
        for (int32_t c = 0; c < COLUMNS; c++) {
            b.low[c] = r == 0 || values[c] < b.low[c] ? values[c] : b.low[c];
            b.high[c] = r == 0 || values[c] > b.high[c] ? values[c] : b.high[c];
        }
    }
    lcp_svg_print(svg, "<polygon fill=\"#888\" fill-opacity=\".45\" points=\"");
    line_points(svg, b.high, y + height, height / most, false);
    line_points(svg, b.low, y + height, height / most, true);
    lcp_svg_print(svg, "\"/>\n<polyline fill=\"none\" stroke=\"#222\" points=\"");
    for (int32_t c = 0; c < COLUMNS; c++) {
        values[c] = 0;
    }
    levels(svg, fullest(svg->s), values);
    line_points(svg, values, y + height, height / most, false);
    lcp_svg_print(svg, "\"/>\n");
    frame(svg, y, height, most);
    double step = lcp_svg_step(gigabytes(most), 5);
    for (int32_t i = 0; i * step <= gigabytes(most); i++) {
        double at = y + height - height * i * step / gigabytes(most);
        lcp_svg_print(svg, "<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>", svg->left,
                      svg->left + svg->width, at, at);
        lcp_svg_print(svg, "<text class=\"small end\" x=\"%.0f\" y=\"%.1f\">%.4g GB</text>\n", svg->left - 8, at + 3,
                      i * step);
    }
    lcp_svg_print(svg, "<text class=\"small\" x=\"%.0f\" y=\"%.1f\">line: rank %d, the</text>",
                  svg->left + svg->width + 8, y + 16, fullest(svg->s));
    lcp_svg_print(svg, "<text class=\"small\" x=\"%.0f\" y=\"%.1f\">fullest, %.1f GB</text>",
                  svg->left + svg->width + 8, y + 29, gigabytes(largest_peak(svg->s)));
    lcp_svg_print(svg, "<text class=\"small\" x=\"%.0f\" y=\"%.1f\">band: all ranks</text>\n",
                  svg->left + svg->width + 8, y + 48);
}

double lcp_svg_memory(lcp_svg *svg, double y)
{
    double most = largest_peak(svg->s);
    double capacity = (double)svg->s->capacity_bytes;
    most = capacity > most && capacity < 2 * most ? capacity * 1.02 : most * 1.02;
    most = most > 0 ? most : 1;
    double *values = calloc(3 * COLUMNS, sizeof *values);
    if (values == NULL) {
        svg->failed = true;
        return y;
    }
    bool few = svg->s->schedule.rank_count <= 8;
    if (few) {
        areas(svg, y, most, values);
    } else {
        envelope(svg, y, most, values);
    }
    if (capacity <= most) {
        lcp_svg_print(svg,
                      "<text x=\"%.0f\" y=\"%.1f\" style=\"fill:#cc3311\">dashed: what a device has, %.1f GB</text>\n",
                      svg->left + 140, y - 16, gigabytes(capacity));
    }
    free(values);
    return y + (few ? svg->s->schedule.rank_count * 52.0 : 190);
}
