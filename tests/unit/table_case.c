#include "table_case.h"

#include <string.h>
#include <unistd.h>

static char path[128];

const char *table_file(const char *stem, const char *bytes, size_t size)
{
    snprintf(path, sizeof path, "table-%ld-%.60s.csv", (long)getpid(), stem);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *table_of(const char *stem, const char *text)
{
    return table_file(stem, text, strlen(text));
}

void table_remove(void)
{
    (void)remove(path);
}
