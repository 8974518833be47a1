/* The document around the timeline: title, legend, axes. */
#include "timeline_svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#define LEFT 92
#define RIGHT 128
#define WIDTH 1040

void lcp_svg_print(lcp_svg *svg, const char *format, ...)
{
    char line[768];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (svg->failed || length < 0 || (size_t)length >= sizeof line) {
        svg->failed = true;
        return;
    }
    if (svg->used + (size_t)length + 1 > svg->room) {
        size_t room = 2 * svg->room + sizeof line;
        char *text = realloc(svg->text, room);
        if (text == NULL) {
            svg->failed = true;
            return;
        }
        svg->text = text;
        svg->room = room;
    }
    for (int i = 0; i <= length; i++) {
        svg->text[svg->used + (size_t)i] = line[i];
    }
    svg->used += (size_t)length;
}

double lcp_svg_x(const lcp_svg *svg, double seconds)
{
    return svg->left + svg->width * seconds / svg->end_seconds;
}

double lcp_svg_step(double end, int32_t count)
{
    double step = pow(10, floor(log10(end / count)));
    static const double nice[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof nice / sizeof nice[0]; i++) {
        if (end / (nice[i] * step) <= count) {
            return nice[i] * step;
        }
    }
    return 10 * step;
}

/* Distinct under the common kinds of colour blindness (Paul Tol's bright scheme). */
const char *lcp_svg_colour(lcp_op_kind kind)
{
    static const char *const colours[LCP_OP_KIND_COUNT] = {
        [LCP_OP_FORWARD] = "#4477aa",     [LCP_OP_BACKWARD] = "#228833",  [LCP_OP_INPUT_GRAD] = "#ccbb44",
        [LCP_OP_WEIGHT_GRAD] = "#66ccee", [LCP_OP_RECOMPUTE] = "#aa3377", [LCP_OP_OFFLOAD] = "#ee6677",
        [LCP_OP_RELOAD] = "#bb5500"};
    return colours[kind];
}

static bool has_kind(const lcp_schedule *schedule, lcp_op_kind kind)
{
    for (int32_t r = 0; r < schedule->rank_count; r++) {
        for (int32_t i = 0; i < schedule->op_count[r]; i++) {
            if (schedule->ops[r][i].kind == kind) {
                return true;
            }
        }
    }
    return false;
}

static void legend(lcp_svg *svg, double y)
{
    double x = svg->left;
    for (int kind = 0; kind < LCP_OP_KIND_COUNT; kind++) {
        if (has_kind(&svg->s->schedule, (lcp_op_kind)kind)) {
            const char *word = lcp_pass_word((lcp_op_kind)kind);
            lcp_svg_print(svg, "<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" fill=\"%s\"/>", x, y - 10,
                          lcp_svg_colour((lcp_op_kind)kind));
            lcp_svg_print(svg, "<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", x + 17, y, word);
            double letters = 0;
            for (const char *c = word; *c != '\0'; c++) {
                letters++;
            }
            x += 17 + 7 * letters + 22;
        }
    }
    lcp_svg_print(svg, "<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" class=\"idle\"/>", x, y - 10);
    lcp_svg_print(svg, "<text x=\"%.0f\" y=\"%.0f\">idle</text>\n", x + 17, y);
}

static void head(lcp_svg *svg, const char *schedule, double height)
{
    const lcp_schedule *s = &svg->s->schedule;
    lcp_svg_print(svg,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
                  "role=\"img\" aria-labelledby=\"title desc\" font-family=\"sans-serif\" font-size=\"12\">\n",
                  LEFT + WIDTH + RIGHT, height, LEFT + WIDTH + RIGHT, height);
    lcp_svg_print(svg, "<title id=\"title\">%s on %d pipeline ranks, %d chunks</title>\n", schedule, s->rank_count,
                  s->chunk_count);
    lcp_svg_print(svg,
                  "<desc id=\"desc\">One row for each pipeline rank with its passes over time, %.6g s in all, and the "
                  "memory that the ranks hold below.</desc>\n",
                  svg->s->replay.makespan_seconds);
    lcp_svg_print(svg, "<style>text{fill:#222}.small{font-size:10px}.in{fill:#fff;font-size:10px;text-anchor:middle}"
                       ".dark{fill:#222}.end{text-anchor:end}.mid{text-anchor:middle}.idle{fill:#eee;stroke:#ccc}"
                       ".grid{stroke:#000;stroke-opacity:.15}.axis{stroke:#555}</style>\n");
    lcp_svg_print(svg, "<rect width=\"%d\" height=\"%.0f\" fill=\"#fff\"/>\n", LEFT + WIDTH + RIGHT, height);
    lcp_svg_print(svg,
                  "<text x=\"%d\" y=\"24\" font-size=\"16\">%s: %d pipeline rank%s, %d stage%s, %d chunk%s, "
                  "%.6g s</text>\n",
                  LEFT, schedule, s->rank_count, s->rank_count == 1 ? "" : "s", s->stage_count,
                  s->stage_count == 1 ? "" : "s", s->chunk_count, s->chunk_count == 1 ? "" : "s",
                  svg->s->replay.makespan_seconds);
}

lcp_status lcp_timeline_svg(char **out, size_t *size, const lcp_simulated *simulated, const char *schedule,
                            lcp_error *err)
{
    int32_t ranks = simulated->schedule.rank_count;
    lcp_svg svg = {.s = simulated, .left = LEFT, .width = WIDTH, .top = 76};
    svg.lane = ranks <= 8 ? 30 : ranks <= 24 ? 18 : 10;
    svg.gap = ranks <= 24 ? 4 : 2;
    svg.end_seconds = simulated->replay.makespan_seconds > 0 ? simulated->replay.makespan_seconds : 1;
    double lanes = ranks * (svg.lane + svg.gap);
    double memory = ranks <= 8 ? ranks * 52.0 : 190;
    head(&svg, schedule, svg.top + lanes + 62 + memory + 40);
    legend(&svg, 48);
    lcp_svg_time_axis(&svg, svg.top, svg.top + lanes);
    double y = lcp_svg_lanes(&svg);
    lcp_svg_print(&svg, "<text x=\"%.0f\" y=\"%.0f\">Memory of a device</text>\n", svg.left, y + 46);
    lcp_svg_time_axis(&svg, y + 62, y + 62 + memory);
    lcp_svg_memory(&svg, y + 62);
    lcp_svg_print(&svg, "</svg>\n");
    if (svg.failed) {
        free(svg.text);
        return lcp_fail(err, LCP_NOMEM, "", "no memory for the timeline");
    }
    *out = svg.text;
    *size = svg.used;
    return LCP_OK;
}
