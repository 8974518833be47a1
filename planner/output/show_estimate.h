/* An estimate and a profile for people and as JSON. */
#ifndef LCP_SHOW_ESTIMATE_H
#define LCP_SHOW_ESTIMATE_H

#include "lcp/estimate.h"
#include "lcp/profile.h"

#include <jansson.h>
#include <stdio.h>

/* What an estimate was made from; profile NULL = the catalogue's curves. */
typedef struct lcp_estimate_report {
    const lcp_model *model;
    const lcp_cluster *cluster;
    const lcp_run *run;
    const lcp_profile *profile;
    const lcp_estimate *estimate;
} lcp_estimate_report;

/* Figures, where the time and the memory go; with constants, every rate and overhead and where it comes from. */
void lcp_show_estimate(FILE *out, const lcp_estimate_report *report, bool constants);
/* New reference; NULL when out of memory. */
json_t *lcp_show_estimate_json(const lcp_estimate_report *report);

void lcp_show_profile(FILE *out, const lcp_profile *profile);

#endif
