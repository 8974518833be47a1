/* Words of the enums of lcp_training, as files and the command line say them. */
#include "lcp/cost.h"

#include <stddef.h>

const char *const lcp_precision_names[] = {"bf16", "fp16", "fp32", "fp8", "fp4", NULL};
const char *const lcp_optimizer_names[] = {"adam", "sgd", "muon", NULL};
const char *const lcp_loss_names[] = {"eager", "fused", "chunked", "vocab-parallel", "fused-linear", NULL};
const char *const lcp_attention_core_names[] = {"flash", "unfused", NULL};
