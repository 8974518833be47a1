/* config.json files with the keys they were published with, and what must not be dropped in silence. */
#include "json_case.h"
#include "support.h"

#include "lcp/model.h"

#include <string.h>

static lcp_status read_text(lcp_model *model, const char *document, lcp_error *err)
{
    json_t *root = json_of(document);
    lcp_status status = lcp_model_from_json(model, root, "t", err);
    json_decref(root);
    return status;
}

static void read_good(lcp_model *model, const char *document)
{
    lcp_error err = {0};
    if (read_text(model, document, &err) != LCP_OK) {
        fail_msg("%s: %s: %s", document, err.where, err.text);
    }
}

#define GEMMA3_4B                                                                                                      \
    "{'architectures':['Gemma3ForConditionalGeneration'],'boi_token_index':255999,'eoi_token_index':256000,"           \
    "'eos_token_id':[1,106],'image_token_index':262144,'initializer_range':0.02,'mm_tokens_per_image':256,"            \
    "'model_type':'gemma3','text_config':{'hidden_size':2560,'intermediate_size':10240,'model_type':'gemma3_text',"    \
    "'num_hidden_layers':34,'rope_scaling':{'factor':8.0,'rope_type':'linear'},'sliding_window':1024},"                \
    "'torch_dtype':'bfloat16','vision_config':{'hidden_size':1152}}"
#define GEMMA3_12B                                                                                                     \
    "{'model_type':'gemma3','text_config':{'hidden_size':3840,'intermediate_size':15360,'model_type':'gemma3_text',"   \
    "'num_attention_heads':16,'num_hidden_layers':48,'num_key_value_heads':8,'sliding_window':1024}}"
#define MPT_7B                                                                                                         \
    "{'architectures':['MPTForCausalLM'],'attn_config':{'alibi':true,'alibi_bias_max':8,'attn_impl':'torch',"          \
    "'attn_pdrop':0,'attn_type':'multihead_attention','attn_uses_sequence_id':false,'clip_qkv':null,"                  \
    "'prefix_lm':false,'qk_ln':false,'softmax_scale':null},'auto_map':{},'d_model':4096,'emb_pdrop':0,"                \
    "'embedding_fraction':1.0,'expansion_ratio':4,'init_config':{'name':'kaiming_normal_'},'init_device':'cpu',"       \
    "'learned_pos_emb':true,'logit_scale':null,'max_seq_len':2048,'model_type':'mpt','n_heads':32,'n_layers':32,"      \
    "'no_bias':true,'norm_type':'low_precision_layernorm','resid_pdrop':0,'tokenizer_name':'EleutherAI/gpt-neox-20b'," \
    "'torch_dtype':'bfloat16','transformers_version':'4.28.1','use_cache':false,'verbose':0,'vocab_size':50432}"
#define GLM4_9B_CHAT                                                                                                   \
    "{'add_bias_linear':false,'add_qkv_bias':true,'apply_query_key_layer_scaling':true,"                               \
    "'apply_residual_connection_post_layernorm':false,'architectures':['ChatGLMModel'],'attention_dropout':0.0,"       \
    "'attention_softmax_in_fp32':true,'auto_map':{},'bias_dropout_fusion':true,'classifier_dropout':null,"             \
    "'eos_token_id':[151329],'ffn_hidden_size':13696,'fp32_residual_connection':false,'hidden_dropout':0.0,"           \
    "'hidden_size':4096,'kv_channels':128,'layernorm_epsilon':1.5625e-07,'model_type':'chatglm',"                      \
    "'multi_query_attention':true,'multi_query_group_num':2,'num_attention_heads':32,'num_hidden_layers':40,"          \
    "'num_layers':40,'original_rope':true,'pad_token_id':151329,'padded_vocab_size':151552,'post_layer_norm':true,"    \
    "'rmsnorm':true,'rope_ratio':500,'seq_length':131072,'tie_word_embeddings':false,'torch_dtype':'bfloat16',"        \
    "'transformers_version':'4.40.2','use_cache':true,'vocab_size':151552}"
#define GLM4_9B_HF                                                                                                     \
    "{'architectures':['GlmForCausalLM'],'attention_bias':true,'attention_dropout':0.0,'eos_token_id':[151329],"       \
    "'head_dim':128,'hidden_act':'silu','hidden_size':4096,'initializer_range':0.02,'intermediate_size':13696,"        \
    "'max_position_embeddings':131072,'model_type':'glm','num_attention_heads':32,'num_hidden_layers':40,"             \
    "'num_key_value_heads':2,'pad_token_id':151329,'partial_rotary_factor':0.5,'rms_norm_eps':1.5625e-07,"             \
    "'rope_theta':5000000.0,'tie_word_embeddings':false,'torch_dtype':'bfloat16','use_cache':true,'vocab_size':"       \
    "151552}"
#define GPT_NEOX_20B                                                                                                   \
    "{'architectures':['GPTNeoXForCausalLM'],'attention_probs_dropout_prob':0,'bos_token_id':0,'eos_token_id':0,"      \
    "'hidden_act':'gelu_fast','hidden_dropout_prob':0,'hidden_size':6144,'initializer_range':0.02,"                    \
    "'intermediate_size':24576,'layer_norm_eps':1e-05,'max_position_embeddings':2048,'model_type':'gpt_neox',"         \
    "'num_attention_heads':64,'num_hidden_layers':44,'rotary_emb_base':10000,'rotary_pct':0.25,"                       \
    "'tie_word_embeddings':false,'torch_dtype':'float16','use_cache':true,'vocab_size':50432}"
#define GPT2_SMALL                                                                                                     \
    "{'activation_function':'gelu_new','architectures':['GPT2LMHeadModel'],'attn_pdrop':0.1,'bos_token_id':50256,"     \
    "'embd_pdrop':0.1,'eos_token_id':50256,'initializer_range':0.02,'layer_norm_epsilon':1e-05,'model_type':'gpt2',"   \
    "'n_ctx':1024,'n_embd':768,'n_head':12,'n_layer':12,'n_positions':1024,'output_past':true,'resid_pdrop':0.1,"      \
    "'summary_activation':null,'summary_first_dropout':0.1,'summary_proj_to_labels':true,'summary_type':'cls_index',"  \
    "'summary_use_proj':true,'task_specific_params':{},'vocab_size':50257}"
#define QWEN25_7B                                                                                                      \
    "{'architectures':['Qwen2ForCausalLM'],'attention_dropout':0.0,'bos_token_id':151643,'eos_token_id':151643,"       \
    "'hidden_act':'silu','hidden_size':3584,'initializer_range':0.02,'intermediate_size':18944,"                       \
    "'max_position_embeddings':131072,'max_window_layers':28,'model_type':'qwen2','num_attention_heads':28,"           \
    "'num_hidden_layers':28,'num_key_value_heads':4,'rms_norm_eps':1e-06,'rope_theta':1000000.0,"                      \
    "'sliding_window':131072,'tie_word_embeddings':false,'torch_dtype':'bfloat16','use_cache':true,'use_mrope':false," \
    "'use_sliding_window':false,'vocab_size':152064}"
#define CODESTRAL_MAMBA_7B                                                                                             \
    "{'architectures':['Mamba2ForCausalLM'],'bos_token_id':0,'chunk_size':256,'conv_kernel':4,'eos_token_id':0,"       \
    "'expand':2,'head_dim':64,'hidden_act':'silu','hidden_size':4096,'initializer_range':0.1,"                         \
    "'layer_norm_epsilon':1e-05,'model_type':'mamba2','n_groups':8,'norm_before_gate':true,'num_heads':128,"           \
    "'num_hidden_layers':64,'pad_token_id':0,'rescale_prenorm_residual':false,'residual_in_fp32':true,"                \
    "'rms_norm':true,'state_size':128,'tie_word_embeddings':false,'time_step_floor':0.0001,"                           \
    "'time_step_limit':[0.0,1e99],'time_step_max':0.1,'time_step_min':0.001,'time_step_rank':256,"                     \
    "'torch_dtype':'bfloat16','use_bias':false,'use_cache':true,'use_conv_bias':true,'vocab_size':32768}"
#define NEMOTRON_H_8B                                                                                                  \
    "{'architectures':['NemotronHForCausalLM'],'attention_bias':false,'attention_dropout':0.0,"                        \
    "'attention_head_dim':128,'auto_map':{},'bos_token_id':1,'chunk_size':128,'conv_kernel':4,'eos_token_id':2,"       \
    "'expand':2,'hidden_dropout':0.0,'hidden_size':4096,"                                                              \
    "'hybrid_override_pattern':'M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-','initializer_range':0.02,"       \
    "'intermediate_size':21504,'layer_norm_epsilon':1e-05,'mamba_head_dim':64,'mamba_hidden_act':'silu',"              \
    "'mamba_num_heads':128,'mamba_proj_bias':false,'max_position_embeddings':8192,'mlp_bias':false,"                   \
    "'mlp_hidden_act':'relu2','model_type':'nemotron_h','n_groups':8,'num_attention_heads':32,"                        \
    "'num_hidden_layers':52,'num_key_value_heads':8,'num_logits_to_keep':1,'pad_token_id':0,"                          \
    "'rescale_prenorm_residual':true,'residual_in_fp32':false,'rms_norm_eps':1e-05,'sliding_window':null,"             \
    "'ssm_state_size':128,'tie_word_embeddings':false,'time_step_floor':0.0001,'time_step_limit':[0.0,1e99],"          \
    "'time_step_max':0.1,'time_step_min':0.001,'time_step_rank':256,'torch_dtype':'bfloat16','use_bias':false,"        \
    "'use_cache':true,'use_conv_bias':true,'use_mamba_kernels':true,'vocab_size':131072}"

#define BAMBA_9B                                                                                                       \
    "{'architectures':['BambaForCausalLM'],'attention_bias':false,'attention_dropout':0.0,"                            \
    "'attn_layer_indices':[9,18,27],'attn_rotary_emb':64,'bos_token_id':128000,'eos_token_id':128001,"                 \
    "'hidden_act':'silu','hidden_size':4096,'initializer_range':0.02,'intermediate_size':14336,"                       \
    "'mamba_chunk_size':256,'mamba_conv_bias':true,'mamba_d_conv':4,'mamba_d_head':64,'mamba_d_state':128,"            \
    "'mamba_expand':2,'mamba_n_groups':1,'mamba_n_heads':128,'mamba_proj_bias':false,'max_position_embeddings':4096,"  \
    "'mlp_bias':false,'model_type':'bamba','num_attention_heads':32,'num_hidden_layers':32,'num_key_value_heads':8,"   \
    "'num_logits_to_keep':1,'pad_token_id':0,'rms_norm_eps':1e-05,'rope_scaling':null,'rope_theta':10000.0,"           \
    "'tie_word_embeddings':false,'torch_dtype':'bfloat16','use_cache':true,'vocab_size':128256}"
#define MAMBA_5 "'mamba','mamba','mamba','mamba','mamba',"
#define MAMBA_9 MAMBA_5 "'mamba','mamba','mamba','mamba',"
#define GRANITE_4_SMALL                                                                                                \
    "{'architectures':['GraniteMoeHybridForCausalLM'],'attention_bias':false,'attention_multiplier':0.0078125,"        \
    "'embedding_multiplier':12,'hidden_act':'silu','hidden_size':4096,'initializer_range':0.1,'init_method':'mup',"    \
    "'intermediate_size':768,'layer_types':[" MAMBA_5 "'attention'," MAMBA_9 "'attention'," MAMBA_9                    \
    "'attention'," MAMBA_9 "'attention','mamba','mamba','mamba','mamba'],'logits_scaling':16,"                         \
    "'mamba_chunk_size':256,'mamba_conv_bias':true,'mamba_d_conv':4,'mamba_d_head':64,'mamba_d_state':128,"            \
    "'mamba_expand':2,'mamba_n_groups':1,'mamba_n_heads':128,'mamba_proj_bias':false,"                                 \
    "'max_position_embeddings':131072,'model_type':'granitemoehybrid','normalization_function':'rmsnorm',"             \
    "'num_attention_heads':32,'num_experts_per_tok':10,'num_hidden_layers':40,'num_key_value_heads':8,"                \
    "'num_local_experts':72,'output_router_logits':false,'position_embedding_type':'nope',"                            \
    "'residual_multiplier':0.22,'rope_scaling':null,'router_aux_loss_coef':0.0,'shared_intermediate_size':1536,"       \
    "'tie_word_embeddings':true,'vocab_size':100352}"

static const struct {
    const char *document;
    int64_t total;
} published[] = {
    {GEMMA3_4B, INT64_C(3880263168)}, /* 3,880,099,328 of the text-only release and 64 rows of 2560 */
    {GEMMA3_12B, INT64_C(11766034176)},
    {MPT_7B, INT64_C(6649286656)},
    {GLM4_9B_CHAT, INT64_C(9399951360)},
    {GLM4_9B_HF, INT64_C(9399951360)},
    {GPT_NEOX_20B, INT64_C(20554567680)},
    {GPT2_SMALL, INT64_C(124439808)},
    {QWEN25_7B, INT64_C(7615616512)},
    {CODESTRAL_MAMBA_7B, INT64_C(7285403648)},
    {NEMOTRON_H_8B, INT64_C(8100852736)},
    /* By hand from the layers; the names' size classes are 9.78B and 32B.
     * 29 x (102286976 mamba + 176160768 ffn + 8192) + 3 x (41943040 + 176160768 + 8192) + 2 x 128256 x 4096 + 4096 */
    {BAMBA_9B, INT64_C(9780235392)},
    /* 36 x 102286976 mamba + 4 x 41943040 + 40 x (679477248 + 294912 + 18874368 + 8192) + 100352 x 4096 + 4096 */
    {GRANITE_4_SMALL, INT64_C(32207337984)},
};

static void published_files_are_read_whole(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        lcp_model model;
        lcp_error err = {0};
        int64_t total = 0;
        if (read_text(&model, published[i].document, &err) == LCP_OK) {
            total = lcp_model_parameters(&model).total;
            lcp_model_dispose(&model);
        }
        if (total != published[i].total) {
            print_error("case %zu: %lld, expected %lld (%s: %s)\n", i, (long long)total, (long long)published[i].total,
                        err.where, err.text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

#define DIMENSIONS                                                                                                     \
    "'hidden_size':64,'num_hidden_layers':4,'num_attention_heads':4,'num_key_value_heads':2,'vocab_size':100"
#define DENSE DIMENSIONS ",'intermediate_size':128"
#define CONFIG(type, rest) "{'model_type':'" type "'," rest "}"
#define EXPERTS ",'num_experts':8,'num_experts_per_tok':2,'moe_intermediate_size':32"
#define GPT_OSS CONFIG("gpt_oss", DENSE ",'head_dim':16,'num_local_experts':4,'num_experts_per_tok':2" WINDOWED)
#define WINDOWED ",'sliding_window':8,'layer_types':['sliding_attention','full_attention','sliding_attention','x']"
#define NEXT                                                                                                           \
    DENSE EXPERTS ",'head_dim':16,'shared_expert_intermediate_size':32,'linear_num_key_heads':2,"                      \
                  "'linear_num_value_heads':4,'linear_key_head_dim':16,'linear_value_head_dim':16,"                    \
                  "'linear_conv_kernel_dim':4"
#define MPT(attention)                                                                                                 \
    "{'model_type':'mpt','d_model':64,'n_heads':4,'n_layers':2,'max_seq_len':32,'vocab_size':100,'attn_config':"       \
    "{" attention "}}"
#define LATENT                                                                                                         \
    ",'kv_lora_rank':16,'qk_nope_head_dim':8,'qk_rope_head_dim':8,'v_head_dim':8,'n_routed_experts':8,"                \
    "'num_experts_per_tok':2,'moe_intermediate_size':32"
#define MAMBA ",'mamba_num_heads':4,'mamba_head_dim':8,'ssm_state_size':8,'n_groups':2,'conv_kernel':4"

/* What a file says and what it leaves out: an error with its place, never a guess. */
static const struct {
    const char *document, *where, *says;
} refused[] = {
    {CONFIG("gpt_neox", DIMENSIONS), "$.intermediate_size", "missing"},
    {CONFIG("gemma", DIMENSIONS), "$.intermediate_size", "missing"},
    {CONFIG("gemma2", DIMENSIONS ",'sliding_window':8"), "$.intermediate_size", "missing"},
    {CONFIG("gemma3_text", DIMENSIONS ",'sliding_window':8"), "$.intermediate_size", "missing"},
    {CONFIG("mixtral", DIMENSIONS ",'num_local_experts':4,'num_experts_per_tok':2"), "$.intermediate_size", "missing"},
    {CONFIG("gpt_oss", DIMENSIONS ",'head_dim':16,'num_local_experts':4,'num_experts_per_tok':2,'sliding_window':8"),
     "$.intermediate_size", "missing"},
    {GPT_OSS, "$.layer_types[3]", "\"x\""},
    {CONFIG("gemma2", DENSE ",'sliding_window':8,'layer_types':['full_attention']"), "$.layer_types", "4"},
    {CONFIG("qwen2", DENSE ",'layer_types':['sliding_attention','full_attention','full_attention','full_attention']"),
     "$.layer_types[0]", "window"},
    {CONFIG("qwen2", DENSE ",'use_sliding_window':true"), "$.sliding_window", "missing"},
    {CONFIG("qwen3_next", NEXT ",'layer_types':['full_attention','linear_attention','linear_attention','mamba']"),
     "$.layer_types[3]", "mamba"},
    {CONFIG("qwen3_moe", DENSE EXPERTS ",'mlp_only_layers':3"), "$.mlp_only_layers", "array"},
    {CONFIG("qwen3_moe", DENSE EXPERTS ",'mlp_only_layers':[4]"), "$.mlp_only_layers[0]", "4"},
    {CONFIG("qwen3_moe", DENSE EXPERTS ",'mlp_only_layers':['0']"), "$.mlp_only_layers[0]", "integer"},
    {CONFIG("llama", DENSE ",'is_encoder_decoder':true"), "$.is_encoder_decoder", "not understood"},
    {CONFIG("gpt2", "'n_embd':64,'n_layer':2,'n_head':4,'n_positions':32,'vocab_size':100,'add_cross_attention':true"),
     "$.add_cross_attention", "not understood"},
    {CONFIG("gpt2", "'n_embd':64,'n_layer':2,'n_head':4,'n_positions':1099511627776,'vocab_size':100"), "$.n_positions",
     "1099511627776"},
    {CONFIG("gpt2", "'n_embd':16777216,'n_layer':2,'n_head':4,'n_positions':8,'vocab_size':100"), "$.n_embd", "ffn"},
    {CONFIG("gemma3_text", DENSE ",'sliding_window':8,'use_bidirectional_attention':true"),
     "$.use_bidirectional_attention", "not understood"},
    {MPT("'alibi':true,'attn_type':'sparse'"), "$.attn_config.attn_type", "sparse"},
    {MPT("'alibi':true,'prefix_lm':true"), "$.attn_config.prefix_lm", "true"},
    {MPT("'alibi':true,'kv_n_heads':3,'attn_type':'grouped_query_attention'"), "$.attn_config.kv_n_heads", "divide"},
    {CONFIG("chatglm", "'hidden_size':64,'num_layers':2,'num_hidden_layers':3,'num_attention_heads':4,"
                       "'ffn_hidden_size':128,'padded_vocab_size':100"),
     "$.num_hidden_layers", "2"},
    {CONFIG("chatglm", "'hidden_size':64,'num_layers':2,'num_attention_heads':4,'multi_query_attention':true,"
                       "'multi_query_group_num':3,'ffn_hidden_size':128,'padded_vocab_size':100"),
     "$.multi_query_group_num", "divide"},
    {CONFIG("nemotron_h", DENSE MAMBA ",'hybrid_override_pattern':'M*-'"), "$.hybrid_override_pattern", "one symbol"},
    {CONFIG("nemotron_h", DENSE MAMBA ",'hybrid_override_pattern':'M*-X'"), "$.hybrid_override_pattern", "M, *"},
    {CONFIG("nemotron_h", DENSE MAMBA ",'hybrid_override_pattern':'MMMM','mamba_proj_bias':true"), "$.mamba_proj_bias",
     "not understood"},
    {CONFIG("deepseek_v3", DENSE LATENT ",'first_k_dense_replace':1,'index_topk':2048"), "$.index_topk", "understood"},
    {CONFIG("mistral", "'hidden_size':64,'num_hidden_layers':4,'num_attention_heads':4,'vocab_size':9,"
                       "'intermediate_size':128"),
     "$.num_key_value_heads", "missing"},
    /* 65536 experts of three matrices of 2^24 x 2^24 are 2^65 numbers */
    {"{'model_type':'mixtral','hidden_size':16777216,'num_hidden_layers':1024,'num_attention_heads':4,"
     "'num_key_value_heads':2,'vocab_size':100,'intermediate_size':16777216,'num_local_experts':65536,"
     "'num_experts_per_tok':2}",
     "t: $", "parameters"},
};

static void what_is_not_understood_is_refused(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        lcp_model model;
        lcp_error err = {0};
        lcp_status status = read_text(&model, refused[i].document, &err);
        if (status != LCP_INPUT || strstr(err.where, refused[i].where) == NULL ||
            strstr(err.text, refused[i].says) == NULL) {
            print_error("case %zu: status %d, %s: %s (wanted %s, %s)\n", i, status, err.where, err.text,
                        refused[i].where, refused[i].says);
            wrong++;
        }
        lcp_model_dispose(&model);
    }
    assert_int_equal(wrong, 0);
}

/* Windows of the layers of a model of at most 8 layers. */
static void assert_windows(const char *document, const int64_t *windows)
{
    lcp_model model;
    read_good(&model, document);
    for (int32_t l = 0; l < model.layer_count; l++) {
        int64_t found = model.classes[model.layer_class[l]].attention.window_tokens;
        if (found != windows[l]) {
            fail_msg("%s: layer %d has window %lld, expected %lld", document, l, (long long)found,
                     (long long)windows[l]);
        }
    }
    lcp_model_dispose(&model);
}

#define TYPES "'layer_types':['full_attention','sliding_attention','sliding_attention','full_attention']"

static void windows_follow_the_file(void **state)
{
    (void)state;
    assert_windows(CONFIG("mistral", DENSE ",'sliding_window':8"), (const int64_t[]){8, 8, 8, 8});
    assert_windows(CONFIG("mistral", DENSE ",'sliding_window':null"), (const int64_t[]){0, 0, 0, 0});
    assert_windows(CONFIG("mistral", DENSE ",'sliding_window':8," TYPES), (const int64_t[]){0, 8, 8, 0});
    assert_windows(CONFIG("qwen2", DENSE ",'sliding_window':8,'use_sliding_window':false"),
                   (const int64_t[]){0, 0, 0, 0});
    assert_windows(CONFIG("qwen2", DENSE ",'sliding_window':8,'use_sliding_window':true,'max_window_layers':3"),
                   (const int64_t[]){0, 0, 0, 8});
    assert_windows(CONFIG("qwen3", DENSE ",'head_dim':16,'sliding_window':8,'use_sliding_window':true," TYPES),
                   (const int64_t[]){0, 8, 8, 0});
    assert_windows(CONFIG("gemma2", DENSE ",'head_dim':16,'sliding_window':8"), (const int64_t[]){8, 0, 8, 0});
    assert_windows(CONFIG("gemma2", DENSE ",'head_dim':16,'sliding_window':8," TYPES), (const int64_t[]){0, 8, 8, 0});
    assert_windows(CONFIG("gemma3_text", DENSE ",'head_dim':16,'sliding_window':8,'sliding_window_pattern':3"),
                   (const int64_t[]){8, 8, 0, 8});
    assert_windows(CONFIG("phi3", DENSE ",'sliding_window':8"), (const int64_t[]){8, 8, 8, 8});
}

/* Kinds of mixer of the four layers of a hybrid. */
static void assert_mixers(const char *document, const lcp_attention_kind *kinds)
{
    lcp_model model;
    read_good(&model, document);
    for (int32_t l = 0; l < model.layer_count; l++) {
        assert_int_equal(model.classes[model.layer_class[l]].attention.kind, kinds[l]);
    }
    lcp_model_dispose(&model);
}

static void hybrids_follow_the_file(void **state)
{
    const lcp_attention_kind no = LCP_ATTENTION_NONE;
    const lcp_attention_kind soft = LCP_ATTENTION_GROUPED;
    const lcp_attention_kind state_space = LCP_ATTENTION_STATE_SPACE;
    const lcp_attention_kind linear = LCP_ATTENTION_LINEAR;
    (void)state;
    assert_mixers(CONFIG("qwen3_next", NEXT), (const lcp_attention_kind[]){linear, linear, linear, soft});
    assert_mixers(CONFIG("qwen3_next", NEXT ",'full_attention_interval':2"),
                  (const lcp_attention_kind[]){linear, soft, linear, soft});
    assert_mixers(CONFIG("qwen3_next", NEXT ",'layer_types':['full_attention','linear_attention','linear_attention',"
                                            "'linear_attention'],'attention_bias':false,'use_sliding_window':false"),
                  (const lcp_attention_kind[]){soft, linear, linear, linear});
    assert_mixers(CONFIG("nemotron_h", DENSE MAMBA ",'hybrid_override_pattern':'M*-M'"),
                  (const lcp_attention_kind[]){state_space, soft, no, state_space});
    assert_mixers(CONFIG("nemotron_h", DENSE MAMBA ",'layers_block_type':['mamba','attention','mlp','mamba']"),
                  (const lcp_attention_kind[]){state_space, soft, no, state_space});
}

static int64_t total_of(const char *document)
{
    lcp_model model;
    read_good(&model, document);
    int64_t total = lcp_model_parameters(&model).total;
    lcp_model_dispose(&model);
    return total;
}

/* Two files that differ in one key differ by what that key adds. */
static void each_key_adds_what_it_says(void **state)
{
    static const struct {
        const char *without, *with;
        int64_t difference;
    } rows[] = {
        {CONFIG("llama", DENSE), CONFIG("llama", DENSE ",'attention_bias':true"), 4 * (64 + 32 + 32 + 64)},
        {CONFIG("llama", DENSE), CONFIG("llama", DENSE ",'mlp_bias':true"), 4 * (128 + 128 + 64)},
        {CONFIG("llama", DENSE ",'tie_word_embeddings':true"), CONFIG("llama", DENSE), 6400},
        {CONFIG("llama", DENSE), CONFIG("qwen2", DENSE), 4 * (64 + 32 + 32)},
        {CONFIG("qwen3", DENSE ",'head_dim':16"), CONFIG("qwen3", DENSE ",'head_dim':32"),
         4 * (16 * 64 * (4 + 2 + 2 + 4) + 2 * 16)},
        {CONFIG("deepseek_v2", DENSE LATENT), CONFIG("deepseek_v3", DENSE LATENT), 4 * 8},
        {CONFIG("deepseek_v2", DENSE LATENT), CONFIG("deepseek_v2", DENSE LATENT ",'n_shared_experts':2"),
         4 * 2 * 3 * 64 * 32},
        {CONFIG("qwen3_moe", DENSE EXPERTS ",'head_dim':16,'mlp_only_layers':[0,2]"),
         CONFIG("qwen3_moe", DENSE EXPERTS ",'head_dim':16"), 2 * (8 * 3 * 64 * 32 + 8 * 64 - 3 * 64 * 128)},
        {CONFIG("qwen3_moe", DENSE EXPERTS ",'head_dim':16,'decoder_sparse_step':2"),
         CONFIG("qwen3_moe", DENSE EXPERTS ",'head_dim':16"), 2 * (8 * 3 * 64 * 32 + 8 * 64 - 3 * 64 * 128)},
        {MPT("'alibi':true,'attn_type':'multiquery_attention'"), MPT("'alibi':true"), 2 * (2 * 64 * 48 + 2 * 48)},
        {MPT("'alibi':true"), MPT("'alibi':true,'qk_ln':true"), 2 * 2 * 2 * 64},
        {MPT("'alibi':true"), MPT("'alibi':false"), 32 * 64},
        {"{'text_config':" CONFIG("llama", DENSE) ",'tie_word_embeddings':true}",
         "{'text_config':" CONFIG("llama", DENSE) "}", 6400},
        {"{'text_config':" CONFIG("llama", DENSE ",'tie_word_embeddings':true") "}",
         "{'tie_word_embeddings':true,'text_config':" CONFIG("llama", DENSE ",'tie_word_embeddings':false") "}", 6400},
    };
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t difference = total_of(rows[i].with) - total_of(rows[i].without);
        if (difference != rows[i].difference) {
            print_error("case %zu: %lld, expected %lld\n", i, (long long)difference, (long long)rows[i].difference);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* Modules of multi-token prediction: a layer, a projection of two hidden widths to one, three norms. */
static void prediction_modules_are_apart(void **state)
{
    lcp_model model;
    (void)state;
    read_good(&model, CONFIG("deepseek_v3", DENSE LATENT ",'num_nextn_predict_layers':2"));
    lcp_parameter_count count = lcp_model_parameters(&model);
    lcp_layer_parameters layer = lcp_layer_class_parameters(&model, model.mtp_class);
    int64_t size = layer.attention + layer.router + layer.routed_experts + layer.norms;
    assert_int_equal(model.mtp_count, 2);
    assert_int_equal(count.mtp, 2 * (size + 2 * 64 * 64 + 3 * 64));
    assert_int_equal(count.total, total_of(CONFIG("deepseek_v3", DENSE LATENT)));
    lcp_model_dispose(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_files_are_read_whole), cmocka_unit_test(what_is_not_understood_is_refused),
        cmocka_unit_test(windows_follow_the_file),        cmocka_unit_test(hybrids_follow_the_file),
        cmocka_unit_test(each_key_adds_what_it_says),     cmocka_unit_test(prediction_modules_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
