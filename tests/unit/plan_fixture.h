/* A hand-made problem and plan: 2 data-parallel pipelines of 2 stages, 3 sequences, one of them sliced. */
#ifndef LCP_PLAN_FIXTURE_H
#define LCP_PLAN_FIXTURE_H

#include "lcp/plan.h"
#include "lcp/problem.h"

typedef struct plan_fixture {
    lcp_problem problem;
    lcp_plan plan;
} plan_fixture;

void fixture_plan(plan_fixture *f);
void fixture_plan_dispose(plan_fixture *f);

#endif
