/* Integer keys of the parts of a layer in lcplan.model/1, for the reader and the writer. */
#ifndef LCP_MODEL_FIELDS_H
#define LCP_MODEL_FIELDS_H

#include "lcp/model.h"

#include <stddef.h>

/* One key: where it goes, which kinds need it and which may have it, its range. */
typedef struct lcp_model_field {
    const char *key; /* NULL ends a table */
    size_t offset;
    uint32_t required; /* bit per kind */
    uint32_t allowed;  /* bit per kind */
    int64_t lo, hi;
} lcp_model_field;

extern const lcp_model_field lcp_attention_fields[];
extern const lcp_model_field lcp_ffn_fields[];
extern const char *const lcp_attention_names[LCP_ATTENTION_KIND_COUNT + 1];
extern const char *const lcp_ffn_names[LCP_FFN_KIND_COUNT + 1];

#define LCP_EXTRA_PARAMETERS_MAX (INT64_C(1) << 45)

#endif
