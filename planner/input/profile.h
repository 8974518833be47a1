/* Reading and writing lcplan.profile/1, and the shipped profiles. */
#ifndef LCP_INPUT_PROFILE_H
#define LCP_INPUT_PROFILE_H

#include "json_reader.h"
#include "lcp/profile.h"

/* Text of a shipped profile; made from profiles/ when the library is built. */
typedef struct lcp_shipped_profile {
    const char *name, *text;
} lcp_shipped_profile;
extern const lcp_shipped_profile lcp_shipped_profiles[]; /* ends with name NULL */

lcp_status lcp_profile_from_json(lcp_profile *out, json_t *root, const char *file, lcp_error *err);
json_t *lcp_profile_to_json(const lcp_profile *profile);
/* A shipped profile by name, or a file. */
lcp_status lcp_read_profile(lcp_profile *out, const char *name_or_path, lcp_error *err);
/* All shipped profiles, in the order of their names; the caller frees *out. */
lcp_status lcp_profiles_load(lcp_profile **out, size_t *count, lcp_error *err);

#endif
