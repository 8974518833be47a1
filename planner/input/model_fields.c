#include "input/model_fields.h"

#include "input/model_hf.h"

#define WIDTH_MAX LCP_HF_DIMENSION_MAX
#define EXTRA_MAX LCP_EXTRA_PARAMETERS_MAX

const char *const lcp_attention_names[LCP_ATTENTION_KIND_COUNT + 1] = {"none",        "grouped", "latent",
                                                                       "state_space", "linear",  NULL};
const char *const lcp_ffn_names[LCP_FFN_KIND_COUNT + 1] = {"none", "plain", "gated", "moe", NULL};

#define KIND(k) (1U << (k))
#define A_SOFT (KIND(LCP_ATTENTION_GROUPED))
#define A_LATENT (KIND(LCP_ATTENTION_LATENT))
#define A_STATE (KIND(LCP_ATTENTION_STATE_SPACE))
#define A_LINEAR (KIND(LCP_ATTENTION_LINEAR))
#define A_ALL (A_SOFT | A_LATENT | A_STATE | A_LINEAR)
#define AT(field) offsetof(lcp_attention, field)
const lcp_model_field lcp_attention_fields[] = {
    {"heads", AT(heads), A_ALL, A_ALL, 1, 65536},
    {"kv_heads", AT(kv_heads), A_LINEAR, A_SOFT | A_LINEAR, 1, 65536},
    {"head_dim", AT(head_dim), A_SOFT | A_STATE | A_LINEAR, A_SOFT | A_STATE | A_LINEAR, 1, 65536},
    {"v_head_dim", AT(v_head_dim), A_LATENT | A_LINEAR, A_SOFT | A_LATENT | A_LINEAR, 1, 65536},
    {"window_tokens", AT(window_tokens), 0, A_SOFT | A_LATENT, 0, INT64_C(1) << 40},
    {"q_rank", AT(q_rank), 0, A_LATENT, 0, WIDTH_MAX},
    {"kv_rank", AT(kv_rank), A_LATENT, A_LATENT, 1, WIDTH_MAX},
    {"nope_head_dim", AT(nope_head_dim), A_LATENT, A_LATENT, 1, 65536},
    {"rope_head_dim", AT(rope_head_dim), A_LATENT, A_LATENT, 0, 65536},
    {"state_size", AT(state_size), A_STATE, A_STATE, 1, 65536},
    {"groups", AT(groups), A_STATE, A_STATE, 1, 65536},
    {"conv_width", AT(conv_width), 0, A_STATE | A_LINEAR, 0, 64},
    {"extra_parameters", AT(extra_parameters), 0, A_ALL | KIND(LCP_ATTENTION_NONE), 0, EXTRA_MAX},
    {.key = NULL},
};

#define F_DENSE (KIND(LCP_FFN_PLAIN) | KIND(LCP_FFN_GATED))
#define F_MOE (KIND(LCP_FFN_MOE))
#define FT(field) offsetof(lcp_ffn, field)
const lcp_model_field lcp_ffn_fields[] = {
    {"size", FT(size), F_DENSE | F_MOE, F_DENSE | F_MOE, 1, WIDTH_MAX},
    {"experts", FT(experts), F_MOE, F_MOE, 1, 65536},
    {"top_k", FT(top_k), F_MOE, F_MOE, 1, 65536},
    {"shared_experts", FT(shared_experts), 0, F_MOE, 0, 1024},
    {"shared_size", FT(shared_size), 0, F_MOE, 0, WIDTH_MAX},
    {"extra_parameters", FT(extra_parameters), 0, F_DENSE | F_MOE | KIND(LCP_FFN_NONE), 0, EXTRA_MAX},
    {"expert_extra_parameters", FT(expert_extra_parameters), 0, F_MOE, 0, EXTRA_MAX},
    {.key = NULL},
};
