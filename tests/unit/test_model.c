#include "support.h"

#include "input/input.h"
#include "input/json_reader.h"
#include "input/model_hf.h"
#include "lcp/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODELS "../examples/models/"

/* Published totals: `_facts` of each file. */
static const char *const files[] = {
    "deepseek-v2-lite",
    "deepseek-v2",
    "deepseek-v3",
    "gemma-2-27b",
    "gemma-2-9b",
    "gemma-3-12b",
    "gemma-3-27b",
    "glm-4-9b-chat",
    "glm-4.5-air",
    "glm-4.5",
    "gpt-neox-20b",
    "gpt-oss-120b",
    "gpt-oss-20b",
    "gpt2-xl",
    "kimi-k2",
    "llama-3.1-405b",
    "llama-3.1-70b",
    "llama-3.1-8b",
    "llama-3.2-1b",
    "mistral-7b-v0.1",
    "mixtral-8x22b",
    "mixtral-8x7b",
    "mpt-30b",
    "nemotron-3-nano-30b-a3b",
    "nemotron-h-56b",
    "nemotron-h-8b",
    "opt-66b",
    "phi-3-mini-4k",
    "phi-4",
    "qwen2.5-14b",
    "qwen2.5-32b",
    "qwen2.5-72b",
    "qwen2.5-7b",
    "qwen3-235b-a22b",
    "qwen3-30b-a3b",
    "qwen3-32b",
    "qwen3-8b",
    "qwen3-next-80b-a3b",
};

static void read_file(lcp_model *model, const char *name)
{
    char path[128];
    lcp_source source;
    lcp_error err = {0};
    snprintf(path, sizeof path, MODELS "%s.json", name);
    if (lcp_read_model(model, &source, path, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
}

static json_int_t fact(const char *name, const char *key)
{
    char path[128];
    json_t *root = NULL;
    snprintf(path, sizeof path, MODELS "%s.json", name);
    assert_int_equal(lcp_json_load_file(&root, path, NULL, NULL), LCP_OK);
    json_int_t value = json_integer_value(json_object_get(json_object_get(root, "_facts"), key));
    json_decref(root);
    return value;
}

static void totals_equal_the_facts(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        lcp_model model;
        read_file(&model, files[i]);
        lcp_parameter_count count = lcp_model_parameters(&model);
        json_int_t total = fact(files[i], "computed_params");
        json_int_t active = fact(files[i], "computed_active_params");
        assert_true(total > 0);
        if (count.total != total || (active > 0 && count.active != active)) {
            print_error("%s: total %lld (fact %lld, off by %lld), active %lld (fact %lld, off by %lld)\n", files[i],
                        (long long)count.total, (long long)total, (long long)(count.total - total),
                        (long long)count.active, (long long)active, (long long)(count.active - active));
            wrong++;
        }
        lcp_model_dispose(&model);
    }
    assert_int_equal(wrong, 0);
}

static void round_trip_keeps_everything(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        lcp_model model;
        lcp_model again;
        lcp_error err = {0};
        read_file(&model, files[i]);
        json_t *document = lcp_model_to_json(&model);
        if (lcp_model_from_json(&again, document, "again.json", &err) != LCP_OK) {
            fail_msg("%s: %s: %s", files[i], err.where, err.text);
        }
        json_t *second = lcp_model_to_json(&again);
        assert_true(json_equal(document, second));
        assert_int_equal(model.layer_count, again.layer_count);
        assert_int_equal(model.class_count, again.class_count);
        assert_memory_equal(model.layer_class, again.layer_class,
                            (size_t)model.layer_count * sizeof *model.layer_class);
        assert_int_equal(model.mtp_count, again.mtp_count);
        lcp_parameter_count a = lcp_model_parameters(&model);
        lcp_parameter_count b = lcp_model_parameters(&again);
        assert_memory_equal(&a, &b, sizeof a);
        json_decref(document);
        json_decref(second);
        lcp_model_dispose(&model);
        lcp_model_dispose(&again);
    }
}

/* Layers of the class that the given layer belongs to. */
static int32_t like_layer(const lcp_model *model, int32_t layer)
{
    int32_t count = 0;
    for (int32_t l = 0; l < model->layer_count; l++) {
        count += model->layer_class[l] == model->layer_class[layer];
    }
    return count;
}

static void patterns_are_understood(void **state)
{
    (void)state;
    lcp_model model;
    read_file(&model, "deepseek-v3");
    assert_int_equal(like_layer(&model, 0), 3);
    assert_int_equal(like_layer(&model, 3), 58);
    assert_int_equal(model.mtp_count, 1);
    lcp_model_dispose(&model);
    read_file(&model, "gemma-3-27b"); /* 62 layers, every sixth global: 10 */
    assert_int_equal(like_layer(&model, 5), 10);
    assert_int_equal(model.classes[model.layer_class[0]].attention.window_tokens, 1024);
    assert_int_equal(model.classes[model.layer_class[5]].attention.window_tokens, 0);
    assert_true(model.tied_embeddings);
    lcp_model_dispose(&model);
    read_file(&model, "gemma-2-9b");
    assert_int_equal(model.classes[model.layer_class[0]].attention.window_tokens, 4096);
    assert_int_equal(model.classes[model.layer_class[1]].attention.window_tokens, 0);
    lcp_model_dispose(&model);
    read_file(&model, "nemotron-h-56b");
    assert_int_equal(model.class_count, 3);
    assert_int_equal(like_layer(&model, 0), 54);
    assert_int_equal(like_layer(&model, 7), 10);
    lcp_model_dispose(&model);
    read_file(&model, "qwen3-next-80b-a3b");
    assert_int_equal(like_layer(&model, 3), 12);
    assert_true(model.classes[model.layer_class[3]].attention.output_gate);
    lcp_model_dispose(&model);
    read_file(&model, "qwen2.5-7b"); /* a window that must not count */
    assert_int_equal(model.classes[0].attention.window_tokens, 0);
    lcp_model_dispose(&model);
    read_file(&model, "mistral-7b-v0.1");
    assert_int_equal(model.classes[0].attention.window_tokens, 4096);
    lcp_model_dispose(&model);
    read_file(&model, "gpt-oss-20b");
    assert_true(model.attention_needs_all_keys);
    lcp_model_dispose(&model);
    read_file(&model, "opt-66b");
    assert_true(model.learned_positions);
    lcp_model_dispose(&model);
}

#define LLAMA(more)                                                                                                    \
    "{\"model_type\":\"llama\",\"hidden_size\":64,\"intermediate_size\":128,\"num_hidden_layers\":2,"                  \
    "\"num_attention_heads\":4,\"vocab_size\":100" more "}"
#define OWN(layer)                                                                                                     \
    "{\"format\":\"lcplan.model/1\",\"name\":\"x\",\"hidden_size\":64,\"vocab_size\":9,\"layers\":[" layer "]}"
#define GROUPED "\"attention\":{\"kind\":\"grouped\",\"heads\":4,\"head_dim\":16"

static const struct {
    const char *text, *where, *says;
} bad[] = {
    {LLAMA(",\"num_attention_sinks\":4"), "num_attention_sinks", "not understood"},
    {LLAMA(",\"num_key_value_heads\":3"), "num_key_value_heads", "does not divide"},
    {LLAMA(",\"num_key_value_heads\":0"), "num_key_value_heads", "0"},
    {LLAMA(",\"head_dim\":-1"), "head_dim", "-1"},
    {LLAMA(",\"attention_bias\":\"yes\""), "attention_bias", "true or false"},
    {"{\"model_type\":\"llama\"}", "hidden_size", "missing"},
    {"{\"model_type\":\"brontosaurus\"}", "model_type", "brontosaurus"},
    {"{\"hidden_size\":64}", "", "model_type"},
    {"{\"model_type\":\"gemma3\",\"text_config\":3}", "text_config", "object"},
    {"[]", "", "object"},
    {"{\"model_type\":\"llama\",\"hidden_size\":64,\"intermediate_size\":128,\"num_hidden_layers\":0,"
     "\"num_attention_heads\":4,\"vocab_size\":100}",
     "num_hidden_layers", "0"},
    {"{\"model_type\":\"llama\",\"hidden_size\":1e99,\"intermediate_size\":128,\"num_hidden_layers\":2,"
     "\"num_attention_heads\":4,\"vocab_size\":100}",
     "hidden_size", "e+98"},
    {"{\"model_type\":\"llama\",\"hidden_size\":64.5,\"intermediate_size\":128,\"num_hidden_layers\":2,"
     "\"num_attention_heads\":4,\"vocab_size\":100}",
     "hidden_size", "64.5"},
    {"{\"format\":\"lcplan.model/9\"}", "format", "lcplan.model/1"},
    {OWN("{}"), "layers[0]", "attention"},
    {OWN("{" GROUPED ",\"q_rank\":8}}"), "layers[0].attention.q_rank", "kind"},
    {OWN("{" GROUPED ",\"kv_heads\":3}}"), "layers[0].attention.kv_heads", "divide"},
    {OWN("{" GROUPED "},\"count\":2000}"), "layers[0].count", "2000"},
    {OWN("{" GROUPED "},\"ffn\":{\"kind\":\"moe\",\"size\":8,\"experts\":4,\"top_k\":5}}"), "layers[0].ffn.top_k", "5"},
    {OWN("{" GROUPED "},\"forward_seconds\":-1}"), "layers[0].forward_seconds", "-1"},
    {OWN("{\"attention\":{\"kind\":\"linear\",\"heads\":4,\"kv_heads\":2,\"head_dim\":8,\"v_head_dim\":8,"
         "\"output_gate\":true}}"),
     "layers[0].attention.output_gate", "kind"},
    {OWN("{" GROUPED "},\"ffn\":{\"kind\":\"gated\",\"size\":8,\"gated_experts\":false}}"),
     "layers[0].ffn.gated_experts", "kind"},
    {OWN("{" GROUPED "},\"ffn\":{\"kind\":\"moe\",\"size\":8,\"experts\":4,\"top_k\":2,\"shared_size\":8}}"),
     "layers[0].ffn.shared_size", "shared_experts"},
    {"{\"format\":\"lcplan.model/1\",\"hidden_size\":64,\"vocab_size\":9,\"learned_positions\":true,\"layers\":[]}",
     "max_position_tokens", "missing"},
    {OWN("{" GROUPED ",\"extra_parameters\":35184372088832},\"count\":1000}"), "", "parameters"},
    {OWN("{" GROUPED "},\"colour\":1}"), "layers[0].colour", "unknown"},
    {OWN(""), "layers", "0"},
};

static void bad_models_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *root = NULL;
        lcp_model model;
        lcp_error err = {0};
        assert_int_equal(lcp_json_load_bytes(&root, bad[i].text, strlen(bad[i].text), "m.json", &err), LCP_OK);
        lcp_status status = lcp_model_from_json(&model, root, "m.json", &err);
        bool named = strstr(err.where, bad[i].where) != NULL || strstr(err.text, bad[i].where) != NULL;
        if (status != LCP_INPUT || !named || strstr(err.text, bad[i].says) == NULL ||
            strstr(err.where, "m.json") == NULL) {
            fail_msg("case %zu: status %d, %s: %s (wanted %s, %s)", i, status, err.where, err.text, bad[i].where,
                     bad[i].says);
        }
        json_decref(root);
    }
}

/* Every family has its row in docs/models.md. */
static void families_are_documented(void **state)
{
    char *text = NULL;
    size_t size = 0;
    (void)state;
    assert_int_equal(lcp_read_bytes(&text, &size, "../docs/models.md", NULL), LCP_OK);
    char *grown = realloc(text, size + 1);
    assert_non_null(grown);
    text = grown;
    text[size] = '\0';
    for (size_t t = 0; lcp_hf_families[t] != NULL; t++) {
        for (const lcp_hf_family *row = lcp_hf_families[t]; row->model_type != NULL; row++) {
            char word[72];
            snprintf(word, sizeof word, "`%s`", row->model_type);
            if (strstr(text, word) == NULL) {
                fail_msg("docs/models.md does not name %s", word);
            }
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_equal_the_facts),  cmocka_unit_test(round_trip_keeps_everything),
        cmocka_unit_test(patterns_are_understood), cmocka_unit_test(bad_models_are_refused),
        cmocka_unit_test(families_are_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
