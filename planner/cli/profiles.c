#include "cli/profiles.h"

#include <stdlib.h>
#include <string.h>

lcp_status lcp_take_profiles(lcp_profile_set *out, lcp_profile **owned, const char *wanted, lcp_error *err)
{
    size_t count = 1;
    if (wanted == NULL) {
        lcp_status status = lcp_profiles_load(owned, &count, err);
        *out = (lcp_profile_set){*owned, count, false};
        return status;
    }
    *owned = calloc(1, sizeof **owned);
    if (*owned == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory for a profile");
    }
    *out = (lcp_profile_set){*owned, 1, true};
    return lcp_read_profile(*owned, wanted, err);
}

/* What a command line gave stays; what it left at its default is the profile's. */
static void merge_training(lcp_training *training, const lcp_training *of_profile)
{
    const lcp_training preset = lcp_training_default();
    lcp_training given = *training;
    *training = *of_profile;
#define KEEP_GIVEN(member)                                                                                             \
    if (memcmp(&given.member, &preset.member, sizeof given.member) != 0) {                                             \
        training->member = given.member;                                                                               \
    }
    KEEP_GIVEN(precision)
    KEEP_GIVEN(optimizer)
    KEEP_GIVEN(loss)
    KEEP_GIVEN(gradient_bytes)
    KEEP_GIVEN(kv_gradient_bytes)
    KEEP_GIVEN(expert_imbalance)
    KEEP_GIVEN(dp_overlap_ratio)
    KEEP_GIVEN(tp_overlap_ratio)
    KEEP_GIVEN(tp_grad_overlap_ratio)
    KEEP_GIVEN(ep_overlap_ratio)
    KEEP_GIVEN(zero_overlap_ratio)
    KEEP_GIVEN(attention_core)
    KEEP_GIVEN(dropout)
    KEEP_GIVEN(mla_keeps_expanded_kv)
#undef KEEP_GIVEN
}

lcp_status lcp_apply_profile(lcp_profile *out, lcp_cluster *cluster, lcp_training *training, const char *wanted,
                             lcp_error *err)
{
    lcp_training of_profile = lcp_training_default();
    lcp_status status = lcp_read_profile(out, wanted, err);
    for (int32_t g = 0; status == LCP_OK && g < cluster->group_count; g++) {
        lcp_device *device = &cluster->groups[g].device;
        const char *framework = out->frameworks.count > 0 ? out->frameworks.words[0] : "";
        if (lcp_profile_suits(out, device->name, framework, out->sixteen_bit) == 0) {
            return lcp_fail(err, LCP_INPUT, wanted, "the profile is for %s, the cluster has %s", out->device,
                            device->name);
        }
        lcp_profile_apply(out, device, &of_profile);
    }
    if (status == LCP_OK) {
        merge_training(training, &of_profile);
    }
    return status;
}
