/* Parameters of a profile as a table, and what they do to a device and a way of training. */
#include "lcp/profile.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define DEVICE(member) LCP_TARGET_DEVICE, offsetof(lcp_device, member)
#define TRAINING(member) LCP_TARGET_TRAINING, offsetof(lcp_training, member)

const lcp_parameter_row lcp_parameter_rows[LCP_PARAMETER_COUNT] = {
    [LCP_PARAMETER_MATMUL_RATIO] = {"matmul_ratio", "of peak", "large matrix products", DEVICE(matmul.ratio), 0.1, 1,
                                    0.15, false},
    [LCP_PARAMETER_MATMUL_HALF_ROWS] = {"matmul_half_rows", "rows", "rows at which products run at half of that",
                                        DEVICE(matmul.half_rows), 1, 2000, 0.7, false},
    [LCP_PARAMETER_ATTENTION_FORWARD_RATIO] = {"attention_forward_ratio", "of peak", "fused attention, forward",
                                               DEVICE(attention_forward.ratio), 0.05, 1, 0.15, false},
    [LCP_PARAMETER_ATTENTION_BACKWARD_RATIO] = {"attention_backward_ratio", "of peak", "fused attention, backward",
                                                DEVICE(attention_backward.ratio), 0.05, 1, 0.15, false},
    [LCP_PARAMETER_MEMORY_RATIO] = {"memory_ratio", "of bandwidth", "element-wise kernels and the update",
                                    DEVICE(memory_ratio), 0.1, 1, 0.25, false},
    [LCP_PARAMETER_COLLECTIVE_RATIO] = {"collective_ratio", "of link", "large collectives inside a node",
                                        DEVICE(collective_ratio), 0.1, 1, 0.25, false},
    [LCP_PARAMETER_COLLECTIVE_HALF_BYTES] = {"collective_half_bytes", "bytes", "message at half of that",
                                             DEVICE(collective_half_bytes), 1e4, 1e9, 0.7, false},
    [LCP_PARAMETER_NETWORK_RATIO] = {"network_ratio", "of port", "large collectives between nodes",
                                     DEVICE(network_ratio), 0.05, 1, 0.4, false},
    [LCP_PARAMETER_TP_OVERLAP] = {"tp_overlap_ratio", "share", "tensor-parallel traffic hidden",
                                  TRAINING(tp_overlap_ratio), 0, 1, 0.2, false},
    [LCP_PARAMETER_TP_GRAD_OVERLAP] = {"tp_grad_overlap_ratio", "share",
                                       "tensor-parallel reduction hidden under weight gradients",
                                       TRAINING(tp_grad_overlap_ratio), 0, 1, 0.3, false},
    [LCP_PARAMETER_EP_OVERLAP] = {"ep_overlap_ratio", "share", "expert traffic hidden", TRAINING(ep_overlap_ratio), 0,
                                  1, 0.2, false},
    [LCP_PARAMETER_DP_OVERLAP] = {"dp_overlap_ratio", "share", "gradient exchange hidden under the last backward pass",
                                  TRAINING(dp_overlap_ratio), 0, 1, 0.3, false},
    [LCP_PARAMETER_ZERO_OVERLAP] = {"zero_overlap_ratio", "share", "of ZeRO 2 and 3 exchanges, what could hide does",
                                    TRAINING(zero_overlap_ratio), 0, 1, 0.3, false},
    [LCP_PARAMETER_LAYER_HOST] = {"layer_host_seconds", "s", "least time of a pass over a layer: launches",
                                  DEVICE(layer_host_seconds), 0, 0.02, 0.05, false},
    [LCP_PARAMETER_PASS_OVERHEAD] = {"pass_overhead_seconds", "s", "per pass of a stage", DEVICE(pass_overhead_seconds),
                                     0, 0.1, 0.02, false},
    [LCP_PARAMETER_HOP_OVERHEAD] = {"hop_overhead_seconds", "s", "per send between stages",
                                    DEVICE(hop_overhead_seconds), 0, 0.05, 0.02, false},
    [LCP_PARAMETER_STEP_OVERHEAD] = {"step_overhead_seconds", "s", "per optimizer step", DEVICE(step_overhead_seconds),
                                     0, 2, 0.02, false},
    [LCP_PARAMETER_FIXED_MEMORY] = {"fixed_memory_bytes", "bytes", "context, libraries, communicators",
                                    DEVICE(fixed_memory_bytes), 0, 2e10, 0.1, true},
    [LCP_PARAMETER_ACTIVATION_RATIO] = {"activation_ratio", "seen over counted", "bytes of activations",
                                        DEVICE(activation_ratio), 1, 2, 0.15, true},
};

static void *place(lcp_parameter parameter, lcp_device *device, lcp_training *training)
{
    const lcp_parameter_row *row = &lcp_parameter_rows[parameter];
    char *base = row->target == LCP_TARGET_DEVICE ? (char *)device : (char *)training;
    return base + row->offset;
}

double lcp_parameter_get(lcp_parameter parameter, const lcp_device *device, const lcp_training *training)
{
    lcp_device d = *device;
    lcp_training t = *training;
    const void *at = place(parameter, &d, &t);
    return parameter == LCP_PARAMETER_FIXED_MEMORY ? (double)*(const int64_t *)at : *(const double *)at;
}

void lcp_parameter_set(lcp_parameter parameter, double value, lcp_device *device, lcp_training *training)
{
    void *at = place(parameter, device, training);
    if (parameter == LCP_PARAMETER_FIXED_MEMORY) {
        *(int64_t *)at = (int64_t)value;
    } else {
        *(double *)at = value;
    }
}

void lcp_profile_apply(const lcp_profile *profile, lcp_device *device, lcp_training *training)
{
    for (int32_t p = 0; p < LCP_PARAMETER_COUNT; p++) {
        if (profile->values[p].given) {
            lcp_parameter_set((lcp_parameter)p, profile->values[p].value, device, training);
        }
    }
    training->attention_core = profile->attention_core;
    training->dropout = profile->dropout;
    training->loss = profile->loss;
    training->gradient_bytes = profile->gradient_bytes;
}

static bool holds_word(const lcp_words *list, const char *word)
{
    for (int32_t i = 0; i < list->count; i++) {
        if (strcmp(list->words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

/* `word` occurs in `text`, whatever the case. */
static bool says(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)word[i])) {
            i++;
        }
        if (i == length) {
            return true;
        }
    }
    return false;
}

/* Length of the longest listed word that the name of the framework holds, 0 if none. */
static int32_t framework_match(const lcp_words *list, const char *framework)
{
    int32_t best = 0;
    for (int32_t i = 0; i < list->count; i++) {
        int32_t length = (int32_t)strlen(list->words[i]);
        best = length > best && says(framework, list->words[i]) ? length : best;
    }
    return best;
}

int32_t lcp_profile_suits(const lcp_profile *profile, const char *device, const char *framework, bool sixteen_bit)
{
    int32_t of_device = strcmp(profile->device, device) == 0 ? 2 : holds_word(&profile->devices, device) ? 1 : 0;
    int32_t of_framework = framework_match(&profile->frameworks, framework);
    if (of_device == 0 || profile->sixteen_bit != sixteen_bit || (profile->frameworks.count > 0 && of_framework == 0)) {
        return 0;
    }
    return 4 * of_framework + of_device;
}

const lcp_profile *lcp_profile_choose(const lcp_profile *profiles, size_t count, const char *device,
                                      const char *framework, bool sixteen_bit)
{
    const lcp_profile *best = NULL;
    int32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t suits = lcp_profile_suits(&profiles[i], device, framework, sixteen_bit);
        if (suits > most) {
            most = suits;
            best = &profiles[i];
        }
    }
    return best;
}
