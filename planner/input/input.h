/* Reading inputs into structs. One place per format. */
#ifndef LCP_INPUT_H
#define LCP_INPUT_H

#include "lcp/problem.h"

#include "json_reader.h"

/* Hugging Face config.json or lcplan.model/1, told apart by "format". */
lcp_status lcp_read_model(lcp_model *out, lcp_source *source, const char *path, lcp_error *err);
lcp_status lcp_model_from_json(lcp_model *out, json_t *root, const char *file, lcp_error *err);
/* FILE or DEVICE:NODESxPER_NODE. */
lcp_status lcp_read_cluster(lcp_cluster *out, lcp_source *source, const char *path_or_short, lcp_error *err);
lcp_status lcp_cluster_from_json(lcp_cluster *out, json_t *root, const char *file, lcp_error *err);
lcp_status lcp_read_workload(lcp_workload *out, lcp_source *source, const char *path, lcp_error *err);
/* base_directory: where a relative "file" of lengths is looked up; NULL = current. */
lcp_status lcp_workload_from_json(lcp_workload *out, json_t *root, const char *file, const char *base_directory,
                                  lcp_error *err);
/* --sequence-length N --global-batch M: M sequences of N tokens. */
lcp_status lcp_workload_uniform(lcp_workload *out, lcp_source *source, int64_t length_tokens, int64_t sequences,
                                lcp_error *err);

/* Source of something that came without a file: the digest of its resolved document, whose reference is taken; NULL
 * fails with LCP_NOMEM. */
lcp_status lcp_source_of_document(lcp_source *out, json_t *document, lcp_error *err);

/* Resolved documents (new references): reading them back gives the same structs. NULL = out of memory. */
json_t *lcp_model_to_json(const lcp_model *model);
json_t *lcp_cluster_to_json(const lcp_cluster *cluster);
json_t *lcp_workload_to_json(const lcp_workload *workload);
json_t *lcp_options_to_json(const lcp_options *options);
/* The same below a document: places in messages keep their path. */
lcp_status lcp_options_read(lcp_options *out, const lcp_json_cursor *at, lcp_error *err);
lcp_status lcp_options_from_json(lcp_options *out, json_t *root, const char *file, lcp_error *err);

/* Rules that need two inputs: lengths against learned positions. */
lcp_status lcp_problem_check(const lcp_problem *problem, lcp_error *err);

void lcp_sha256_hex(char out[65], const void *bytes, size_t size);

#endif
