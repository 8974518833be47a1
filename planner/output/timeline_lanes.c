/* Passes of each rank as boxes, or as columns of pixels where there are too many. */
#include "timeline_svg.h"

#include <math.h>

#define NARROWEST 1.5 /* pixels of an average pass that is still drawn by itself */
#define COLUMNS 1040

static bool is_pass(const lcp_op *op)
{
    return op->kind != LCP_OP_OFFLOAD && op->kind != LCP_OP_RELOAD;
}

static void box(lcp_svg *svg, double y, double height, double start, double end, lcp_op_kind kind)
{
    double x = lcp_svg_x(svg, start);
    double width = lcp_svg_x(svg, end) - x;
    lcp_svg_print(svg, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"%s/>\n", x, y,
                  fmax(width, 0.3), height, lcp_svg_colour(kind),
                  width > 3 ? " stroke=\"#fff\" stroke-width=\".5\"" : "");
}

static void label(lcp_svg *svg, double y, double start, double end, const lcp_op *op)
{
    int32_t chunk = svg->s->first_chunk + op->chunk;
    double letters = chunk > 999 ? 4 : chunk > 99 ? 3 : chunk > 9 ? 2 : 1;
    if (svg->lane >= 16 && lcp_svg_x(svg, end) - lcp_svg_x(svg, start) > 6 * letters + 3) {
        bool light = op->kind == LCP_OP_INPUT_GRAD || op->kind == LCP_OP_WEIGHT_GRAD;
        lcp_svg_print(svg, "<text class=\"in%s\" x=\"%.1f\" y=\"%.1f\">%d</text>\n", light ? " dark" : "",
                      (lcp_svg_x(svg, start) + lcp_svg_x(svg, end)) / 2, y + svg->lane / 2 + 3.5, chunk);
    }
}

/* Transfers run in a strip at the bottom of the lane. */
static void boxes(lcp_svg *svg, int32_t rank, double y)
{
    const lcp_replay *replay = &svg->s->replay;
    const lcp_op *ops = svg->s->schedule.ops[rank];
    for (int32_t i = 0; i < svg->s->schedule.op_count[rank]; i++) {
        int64_t at = replay->rank_first[rank] + i;
        double start = replay->start_seconds[at];
        double end = replay->end_seconds[at];
        if (!is_pass(&ops[i])) {
            double strip = ops[i].kind == LCP_OP_OFFLOAD ? 6 : 3;
            box(svg, y + svg->lane - strip, 3, start, end, ops[i].kind);
            continue;
        }
        bool second = i > 0 && ops[i - 1].fused;
        bool halved = ops[i].fused || second;
        box(svg, second ? y + svg->lane / 2 : y, halved ? svg->lane / 2 : svg->lane, start, end, ops[i].kind);
        if (!halved) {
            label(svg, y, start, end, &ops[i]);
        }
    }
}

/* What fills most of each column of pixels; equal neighbours become one box. */
static void columns(lcp_svg *svg, int32_t rank, double y)
{
    const lcp_replay *replay = &svg->s->replay;
    const lcp_op *ops = svg->s->schedule.ops[rank];
    double share[COLUMNS][LCP_OP_KIND_COUNT] = {{0}};
    double column = svg->end_seconds / COLUMNS;
    for (int32_t i = 0; i < svg->s->schedule.op_count[rank]; i++) {
        int64_t at = replay->rank_first[rank] + i;
        double start = replay->start_seconds[at];
        double end = replay->end_seconds[at];
        for (int32_t c = (int32_t)(start / column); is_pass(&ops[i]) && c < COLUMNS && c * column < end; c++) {
            double overlap = fmin(end, (c + 1) * column) - fmax(start, c * column);
            share[c][ops[i].kind] += overlap > 0 ? overlap : 0;
        }
    }
    int32_t from = 0;
    int32_t kind_before = -1;
    for (int32_t c = 0; c <= COLUMNS; c++) {
        int32_t kind = -1;
        double most = 0;
        double busy = 0;
        for (int32_t k = 0; c < COLUMNS && k < LCP_OP_KIND_COUNT; k++) {
            busy += share[c][k];
            kind = share[c][k] > most ? k : kind;
            most = share[c][k] > most ? share[c][k] : most;
        }
        kind = busy < column / 2 ? -1 : kind;
        if (kind != kind_before || c == COLUMNS) {
            if (kind_before >= 0) {
                box(svg, y, svg->lane, from * column, c * column, (lcp_op_kind)kind_before);
            }
            from = c;
            kind_before = kind;
        }
    }
}

static double busy_share(const lcp_simulated *s, int32_t rank)
{
    return s->replay.makespan_seconds > 0 ? 100 * s->replay.busy_seconds[rank] / s->replay.makespan_seconds : 0;
}

double lcp_svg_lanes(lcp_svg *svg)
{
    const lcp_schedule *schedule = &svg->s->schedule;
    int32_t every = svg->lane >= 12 ? 1 : 4; /* labels */
    double y = svg->top;
    for (int32_t r = 0; r < schedule->rank_count; r++) {
        double middle = y + svg->lane / 2 + 4;
        lcp_svg_print(svg, "<rect x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.1f\" fill=\"#eee\"/>\n", svg->left, y,
                      svg->width, svg->lane);
        if (schedule->op_count[r] * NARROWEST > svg->width) {
            columns(svg, r, y);
        } else {
            boxes(svg, r, y);
        }
        if (r % every == 0) {
            lcp_svg_print(svg, "<text class=\"end\" x=\"%.0f\" y=\"%.1f\">rank %d</text>", svg->left - 8, middle, r);
            lcp_svg_print(svg, "<text x=\"%.0f\" y=\"%.1f\">%.1f %% busy</text>\n", svg->left + svg->width + 8, middle,
                          busy_share(svg->s, r));
        }
        y += svg->lane + svg->gap;
    }
    return y;
}

void lcp_svg_time_axis(lcp_svg *svg, double y, double bottom)
{
    double step = lcp_svg_step(svg->end_seconds, 10);
    for (int32_t i = 0; i * step <= svg->end_seconds * (1 + 1e-9); i++) {
        double x = lcp_svg_x(svg, i * step);
        lcp_svg_print(svg, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x, x, y - 4,
                      bottom + 4);
        lcp_svg_print(svg, "<text class=\"small mid\" x=\"%.1f\" y=\"%.1f\">%.6g%s</text>\n", x, bottom + 16, i * step,
                      i == 0 ? " s" : "");
    }
}
