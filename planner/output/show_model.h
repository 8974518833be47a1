/* `lcplan show MODEL`: what was understood, to be held against the published description. */
#ifndef LCP_SHOW_MODEL_H
#define LCP_SHOW_MODEL_H

#include "lcp/model.h"

#include <jansson.h>
#include <stdio.h>

/* For people: layers by class, parameters by part. */
lcp_status lcp_show_model(FILE *out, const lcp_model *model, lcp_error *err);
/* The same for programs; new reference, NULL = out of memory. */
json_t *lcp_show_model_json(const lcp_model *model);

#endif
