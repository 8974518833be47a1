/* The plan of plan_fixture.h with the prediction that belongs to it, and broken copies of it. */
#ifndef LCP_VERIFY_FIXTURE_H
#define LCP_VERIFY_FIXTURE_H

#include "plan_fixture.h"

/* Priced by the code the search uses; the bound is three quarters of the iteration. */
void verify_fixture(plan_fixture *f);

/* What breaks a plan, the rule that finds it, and where it says it is ("" = anywhere). */
typedef struct damage {
    const char *rule, *where;
    void (*apply)(plan_fixture *f);
} damage;
void assert_found(const damage *damages, size_t count);

#endif
