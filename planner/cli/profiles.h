/* Profiles a command was asked for. */
#ifndef LCP_CLI_PROFILES_H
#define LCP_CLI_PROFILES_H

#include "input/profile.h"
#include "rows/row.h"

/* The profile of that name or file alone, or all shipped ones to choose from where wanted is NULL; the caller frees
 * *owned. */
lcp_status lcp_take_profiles(lcp_profile_set *out, lcp_profile **owned, const char *wanted, lcp_error *err);

/* Reads a profile and applies it to every group of the cluster and to what the options left at its default. Fails if a
 * group's device is none the profile is for. */
lcp_status lcp_apply_profile(lcp_profile *out, lcp_cluster *cluster, lcp_training *training, const char *wanted,
                             lcp_error *err);

#endif
