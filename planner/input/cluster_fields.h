/* Rows shared by the readers of clusters and of devices. */
#ifndef LCP_CLUSTER_FIELDS_H
#define LCP_CLUSTER_FIELDS_H

#include "json_fields.h"
#include "lcp/cluster.h"

#define LCP_MAX_RATE 1e18
#define LCP_MAX_SECONDS 3600.0
#define LCP_MAX_MEMORY_BYTES ((int64_t)1 << 50)

/* A bandwidth of 0 says that there is none. */
extern const lcp_field lcp_link_fields[];

/* A member that is an object of its own. */
typedef struct lcp_part {
    const char *key; /* NULL ends a table */
    size_t offset;
    const lcp_field *fields;
} lcp_part;

/* Missing parts stay as they are. */
lcp_status lcp_parts_read(void *out, const lcp_json_cursor *object, const lcp_part *parts, lcp_error *err);
bool lcp_parts_write(json_t *object, const void *in, const lcp_part *parts);

/* "device" of a group: a name of the catalogue or an object. */
lcp_status lcp_device_read(lcp_device *out, const lcp_json_cursor *group, lcp_error *err);
/* NULL when out of memory. */
json_t *lcp_device_to_json(const lcp_device *device);
/* The short names, separated by commas, as far as they fit. */
void lcp_device_list(char *words, size_t size);

#endif
