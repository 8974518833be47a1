/* What was understood of a cluster, for people. */
#ifndef LCP_SHOW_CLUSTER_H
#define LCP_SHOW_CLUSTER_H

#include "lcp/cluster.h"

#include <stdio.h>

void lcp_show_cluster(FILE *out, const lcp_cluster *cluster);

#endif
