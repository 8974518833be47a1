/* Hugging Face config.json: what the families share.
 *
 * Every key that a family reads is marked as understood; what is left over must be on the list of keys that carry no
 * cost (model_hf_keys.c), else the file is refused: a key that changes cost is never dropped in silence. */
#ifndef LCP_MODEL_HF_H
#define LCP_MODEL_HF_H

#include "input/json_reader.h"
#include "lcp/model.h"

#define LCP_HF_MAX_KEYS 256

typedef struct lcp_hf {
    const lcp_json_cursor *object; /* the object that describes the text model */
    const char *model_type;
    lcp_model *out;
    int32_t used_count;
    const char *used[LCP_HF_MAX_KEYS];
    lcp_status status; /* first failure; later calls do nothing */
    lcp_error *err;
} lcp_hf;

typedef struct lcp_hf_family {
    const char *model_type;
    void (*read)(lcp_hf *hf);
} lcp_hf_family;
extern const lcp_hf_family *const lcp_hf_families[]; /* NULL-terminated list of tables, each ended by a zero row */

/* Getters mark the key; after a failure they return the lower bound. `preset` is used when the key is absent or null.
 */
int64_t lcp_hf_int(lcp_hf *hf, const char *key, int64_t lo, int64_t hi);
int64_t lcp_hf_int_or(lcp_hf *hf, const char *key, int64_t preset, int64_t lo, int64_t hi);
bool lcp_hf_bool_or(lcp_hf *hf, const char *key, bool preset);
bool lcp_hf_has(lcp_hf *hf, const char *key); /* present and not null; does not mark */
void lcp_hf_mark(lcp_hf *hf, const char *key);
void lcp_hf_fail(lcp_hf *hf, const char *key, const char *text);

#define LCP_HF_DIMENSION_MAX 16777216 /* widths, vocabulary; far above any model */

/* Widths most families share, read from the usual keys. */
typedef struct lcp_hf_base {
    int64_t hidden, layers, heads, kv_heads, head_dim, ffn_size;
} lcp_hf_base;
/* hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads (absent: heads), head_dim (absent:
 * hidden / heads), intermediate_size, vocab_size, max_position_embeddings, tie_word_embeddings (absent: tied). */
lcp_hf_base lcp_hf_read_base(lcp_hf *hf, bool tied);

/* Grouped-query attention; bias widths in elements. */
lcp_attention lcp_hf_grouped(const lcp_hf_base *base);
int64_t lcp_hf_qkv_width(const lcp_hf_base *base);
lcp_ffn lcp_hf_gated(int64_t size);
lcp_ffn lcp_hf_plain(int64_t size);

/* Allocates the layers; then each layer is set to a class, equal classes are shared. */
void lcp_hf_start_layers(lcp_hf *hf, int64_t layers);
void lcp_hf_set_layer(lcp_hf *hf, int64_t layer, const lcp_layer_class *class);
/* Class for mtp modules (num_nextn_predict_layers). */
void lcp_hf_set_mtp(lcp_hf *hf, int64_t count, const lcp_layer_class *class);

/* All layers alike. */
void lcp_hf_uniform(lcp_hf *hf, int64_t layers, const lcp_layer_class *class);

lcp_status lcp_model_from_hf(lcp_model *out, const lcp_json_cursor *root, lcp_error *err);
bool lcp_hf_harmless(const char *key);
/* Index of a class equal to this one, appended if new; -1 when the table is full. */
int32_t lcp_model_class_index(lcp_model *model, const lcp_layer_class *class);

extern const lcp_hf_family lcp_hf_llama_families[];
extern const lcp_hf_family lcp_hf_gemma_families[];
extern const lcp_hf_family lcp_hf_moe_families[];
extern const lcp_hf_family lcp_hf_gpt_families[];
extern const lcp_hf_family lcp_hf_hybrid_families[];

#endif
