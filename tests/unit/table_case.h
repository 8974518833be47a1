/* Tables of runs written for one test. */
#ifndef LCP_TABLE_CASE_H
#define LCP_TABLE_CASE_H

#include "support.h"

#include <stdio.h>

/* Writes bytes into a file of the test's own and returns its name; the same name for the same `stem`. */
const char *table_file(const char *stem, const char *bytes, size_t size);
const char *table_of(const char *stem, const char *text);
/* Removes what table_file wrote. */
void table_remove(void);

#endif
