#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include "input/input.h"
#include "output/show_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_example(lcp_model *model, const char *path)
{
    lcp_source source;
    lcp_error err = {0};
    if (lcp_read_model(model, &source, path, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
}

static const struct {
    const char *path;
    const char *lines[8]; /* each stands somewhere in what is shown */
} shown[] = {
    {"../examples/models/deepseek-v3.json",
     {"61 layers, hidden 7168, vocabulary 129280",
      "   3 x  latent, 128 heads, ranks q 1536 kv 512, widths 128 + 64 rotary, v 128; gated ffn 18432   (layers 0-2)",
      "  58 x  latent", "8 of 256 experts of 2048, 1 shared of 2048   (layers 3-60)",
      "   1 x  multi-token prediction: latent", "671026419200\n", "37552297472   (routed experts at top-k)",
      "   (not in the total)"}},
    {"../examples/models/gemma-3-12b.json",
     {", tied embeddings", "  40 x  grouped-query, 16 heads, 8 kv heads, width 256, window 1024; gated ffn 15360",
      "   8 x  grouped-query, 16 heads, 8 kv heads, width 256; gated ffn 15360   (layers 5, 11, 17, 23, 29, 35, ...)",
      "11766034176\n"}},
    {"../examples/models/nemotron-h-56b.json",
     {"  54 x  state space, 256 heads of 64, state 256, 8 groups; no ffn", "  54 x  no mixer; plain ffn 32768",
      "  10 x  grouped-query, 64 heads, 8 kv heads, width 128; no ffn"}},
    {"../examples/models/qwen3-next-80b-a3b.json",
     {"  36 x  linear, 16 key heads of 128, 32 value heads of 128", "output gate; 10 of 512 experts of 512, 1 shared"}},
    {"../examples/models/gpt2-xl.json", {"at most 1024 positions", "multi-head, 25 heads", "positions "}},
};

static void text_says_what_was_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        lcp_model model;
        char *text = NULL;
        size_t size = 0;
        read_example(&model, shown[i].path);
        FILE *out = open_memstream(&text, &size);
        assert_non_null(out);
        assert_int_equal(lcp_show_model(out, &model, NULL), LCP_OK);
        assert_int_equal(fclose(out), 0);
        for (size_t k = 0; k < 8 && shown[i].lines[k] != NULL; k++) {
            if (strstr(text, shown[i].lines[k]) == NULL) {
                fail_msg("%s: no \"%s\" in\n%s", shown[i].path, shown[i].lines[k], text);
            }
        }
        free(text);
        lcp_model_dispose(&model);
    }
}

static void output_that_fails_is_an_error(void **state)
{
    lcp_model model;
    lcp_error err = {0};
    (void)state;
    read_example(&model, "../examples/models/gpt2-xl.json");
    FILE *out = fopen("/dev/full", "w");
    if (out != NULL) {
        setvbuf(out, NULL, _IONBF, 0);
        assert_int_equal(lcp_show_model(out, &model, &err), LCP_IO);
        fclose(out);
    }
    lcp_model_dispose(&model);
}

static json_int_t number(const json_t *object, const char *key)
{
    assert_true(json_is_integer(json_object_get(object, key)));
    return json_integer_value(json_object_get(object, key));
}

/* The parts add up to the total, the classes to the layers, and the document is the model. */
static void json_adds_up(void **state)
{
    static const char *const parts[] = {"embedding",      "positions",      "attention", "dense_ffn", "router",
                                        "shared_experts", "routed_experts", "norms",     "head"};
    (void)state;
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        lcp_model model;
        lcp_model again;
        read_example(&model, shown[i].path);
        json_t *document = lcp_show_model_json(&model);
        const json_t *parameters = json_object_get(document, "parameters");
        json_int_t sum = 0;
        for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
            sum += number(parameters, parts[p]);
        }
        assert_int_equal(sum, number(parameters, "total"));
        json_int_t layers = 0;
        json_t *classes = json_object_get(document, "classes");
        for (size_t c = 0; c < json_array_size(classes); c++) {
            layers += number(json_array_get(classes, c), "layers");
        }
        assert_int_equal(layers, model.layer_count);
        assert_int_equal(lcp_model_from_json(&again, json_object_get(document, "model"), "m", NULL), LCP_OK);
        assert_int_equal(lcp_model_parameters(&again).total, sum);
        json_decref(document);
        lcp_model_dispose(&model);
        lcp_model_dispose(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_says_what_was_understood),
        cmocka_unit_test(output_that_fails_is_an_error),
        cmocka_unit_test(json_adds_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
