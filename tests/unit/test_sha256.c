#include "support.h"

#include "input/input.h"

#include <stdlib.h>
#include <string.h>

/* Messages and digests of NIST's examples for FIPS 180-4 and of CAVP SHA256ShortMsg. */
typedef struct vector {
    const char *name;
    const char *message;
    size_t repeats;
    const char *digest;
} vector;

static vector vectors[] = {
    {"empty", "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"one byte", "\xd3", 1, "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
    {"abc", "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"448 bits", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"896 bits",
     "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
     1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {"a million of a", "a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

static void digest_matches(void **state)
{
    const vector *v = *state;
    size_t length = strlen(v->message);
    char *message = malloc(length * v->repeats + 1);
    assert_non_null(message);
    for (size_t i = 0; i < v->repeats; i++) {
        memcpy(message + i * length, v->message, length);
    }
    char hex[65];
    lcp_sha256_hex(hex, message, length * v->repeats);
    assert_string_equal(hex, v->digest);
    free(message);
}

int main(void)
{
    struct CMUnitTest tests[sizeof vectors / sizeof vectors[0]];
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        tests[i] = (struct CMUnitTest){vectors[i].name, digest_matches, NULL, NULL, &vectors[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
