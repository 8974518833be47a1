#include "output/units.h"

#include <math.h>
#include <stdio.h>

typedef struct unit {
    double size;
    const char *name;
} unit;

static const unit second_units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {0, NULL}};
static const unit byte_units[] = {
    {1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1, "B"}, {0, NULL}};
static const unit count_units[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}, {1, ""}, {0, NULL}};

/* The largest unit that leaves at least 1 before the point, or the smallest there is; for 0 the plain one. */
static const unit *choose(const unit *units, double value)
{
    for (const unit *u = units; !(fabs(value) > 0) && u->name != NULL; u++) {
        if (!(u->size < 1) && !(u->size > 1)) {
            return u;
        }
    }
    while (units[1].name != NULL && fabs(value) < units->size) {
        units++;
    }
    return units;
}

lcp_unit_text lcp_text_seconds(double seconds)
{
    lcp_unit_text out;
    const unit *u = choose(second_units, seconds);
    snprintf(out.text, sizeof out.text, "%.4g %s", seconds / u->size, u->name);
    return out;
}

lcp_unit_text lcp_text_bytes(double bytes)
{
    lcp_unit_text out;
    const unit *u = choose(byte_units, bytes);
    snprintf(out.text, sizeof out.text, u->size > 1 ? "%.2f %s" : "%.0f %s", bytes / u->size, u->name);
    return out;
}

lcp_unit_text lcp_text_count(double count)
{
    lcp_unit_text out;
    const unit *u = choose(count_units, count);
    snprintf(out.text, sizeof out.text, u->size > 1 ? "%.2f %s" : "%.0f%s", count / u->size, u->name);
    return out;
}

lcp_unit_text lcp_text_rate(double per_second, const char *unit_name)
{
    lcp_unit_text out;
    const unit *u = choose(count_units, per_second);
    snprintf(out.text, sizeof out.text, "%.4g %s%s/s", per_second / u->size, u->name, unit_name);
    return out;
}
