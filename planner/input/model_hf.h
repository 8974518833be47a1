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
    const lcp_json_cursor *root;   /* the document */
    const lcp_json_cursor *object; /* the object that describes the text model: the document or its text_config */
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

#define LCP_HF_DIMENSION_MAX 16777216 /* widths, vocabulary, learned positions; far above any model */
#define LCP_HF_POSITIONS_MAX (INT64_C(1) << 40)

/* Widths most families share, read from the usual keys. */
typedef struct lcp_hf_base {
    int64_t hidden, layers, heads, kv_heads, head_dim, ffn_size;
} lcp_hf_base;
/* What published files of a family leave out because its class presets it; 0: the key must be there. */
typedef struct lcp_hf_presets {
    int64_t heads, vocab, positions;
    int64_t kv_heads; /* LCP_HF_LIKE_HEADS: as many as heads */
    int64_t head_dim; /* 0: hidden / heads */
    bool tied;
} lcp_hf_presets;
#define LCP_HF_LIKE_HEADS (-1)
/* hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads, head_dim, intermediate_size (absent: 0),
 * vocab_size, max_position_embeddings, tie_word_embeddings. */
lcp_hf_base lcp_hf_read_base(lcp_hf *hf, lcp_hf_presets presets);
/* Fails if there was no intermediate_size. */
void lcp_hf_need_ffn(lcp_hf *hf, const lcp_hf_base *base);
/* tie_word_embeddings of the text model or, where that is silent, of the document. */
bool lcp_hf_tied(lcp_hf *hf, bool preset);

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

/* A list with a word for each layer, such as layer_types; list.value is NULL if the file has none. */
typedef struct lcp_hf_words {
    lcp_json_cursor list;
    const char *const *words; /* NULL-terminated: what it may hold */
} lcp_hf_words;
void lcp_hf_read_words(lcp_hf_words *out, lcp_hf *hf, const char *key, int64_t layers, const char *const *words);
/* Position in words[] of the layer's word; `preset` if there is no list. */
int32_t lcp_hf_word(lcp_hf *hf, const lcp_hf_words *list, int64_t layer, int32_t preset);
/* layer_types of full_attention and sliding_attention. */
enum { LCP_HF_GLOBAL, LCP_HF_LOCAL };
extern const char *const lcp_hf_window_words[];

/* out[layer] = its number is on the list; an absent list is empty. */
void lcp_hf_read_layer_numbers(bool out[LCP_MAX_LAYERS], lcp_hf *hf, const char *key, int64_t layers);

/* Mamba-2: gate, x, B, C and a step per head in; a convolution over x, B and C; out. The families differ in names. */
typedef struct lcp_hf_mamba_keys {
    const char *heads, *head_dim, *state_size, *groups, *conv_width, *conv_bias;
} lcp_hf_mamba_keys;
lcp_attention lcp_hf_mamba(lcp_hf *hf, const lcp_hf_mamba_keys *keys);

lcp_status lcp_model_from_hf(lcp_model *out, const lcp_json_cursor *root, lcp_error *err);
/* The key carries no cost, or not with this value. */
bool lcp_hf_harmless(const char *key, const json_t *value);
/* Index of a class equal to this one, appended if new; -1 when the table is full. */
int32_t lcp_model_class_index(lcp_model *model, const lcp_layer_class *class);

extern const lcp_hf_family lcp_hf_llama_families[];
extern const lcp_hf_family lcp_hf_gemma_families[];
extern const lcp_hf_family lcp_hf_moe_families[];
extern const lcp_hf_family lcp_hf_gpt_families[];
extern const lcp_hf_family lcp_hf_hybrid_families[];
extern const lcp_hf_family lcp_hf_mamba_families[];

#endif
