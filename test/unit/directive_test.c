/* SPDX-License-Identifier: MIT
   Pieces of nginx.conf, and texts that are none.

   What nginx joins is joined, and no byte behind the room is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/log/directive.h"
#include "unit/random.h"

static const struct {
    const char *text, *plain; /* NULL: no directive */
} rows[] = {
    {"log_format main '$remote_addr [$time_local] '\n    '\"$request\"';", "$remote_addr [$time_local] \"$request\""},
    {"\n\t log_format  \"main\" escape=json '{' '\"a\":\"$msec\"' '}' ;\nserver { listen 80; }", "{\"a\":\"$msec\"}"},
    {"# ours\nlog_format m $msec\"x\"$status # two\n '!';", "$msec\"x\"$status!"},
    {"log_format m $msec '|' escape=json;", "$msec|escape=json"},
    {"'$remote_addr ' \"$msec\"", "$remote_addr $msec"},
    {"  '$msec \\'\\\"\\\\\\t\\x' ; more", "$msec '\"\\\t\\x"},
    {"log_format m 'never $closed", "never $closed"},
    {"log_format m 'a\\", "a\\"},
    {"log_format m", ""},
    {"log_format m escape=none", ""},
    {"log_format ", ""},
    {"''", ""},
    {"log_formats m 'a'", NULL},
    {"log_format", NULL},
    {"'$a' $b", NULL},
    {"\"$remote_addr\" \"$msec\"", NULL},
    {"$remote_addr '$msec'", NULL},
    {"combined", NULL},
    {"", NULL},
    {";", NULL},
};

static void directives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[256];
        assert_int_equal(directive_read(rows[i].text, out), rows[i].plain != NULL);
        assert_string_equal(out, rows[i].plain != NULL ? rows[i].plain : "");
    }
}

/* In memory of just that size, for the sanitizers. */
static void any_text(void **state)
{
    (void)state;
    enum { ROUNDS = 20000, PIECES_MAX = 12 };
    static const char *const pieces[] = {"log_format ", "m ", "escape=json ", "'",  "\"", "\\",
                                         ";",           "#",  "\n",           "$a", " "};
    uint64_t seed = 20261121;
    for (int round = 0; round < ROUNDS; round++) {
        char text[256] = "";
        for (uint64_t left = random_below(&seed, PIECES_MAX); left > 0; left--) {
            strcat(text, pieces[random_below(&seed, sizeof pieces / sizeof *pieces)]);
        }
        char *out = malloc(strlen(text) + 1);
        assert_non_null(out);
        const bool is = directive_read(text, out);
        assert_true(strlen(out) <= strlen(text));
        assert_true(is || out[0] == '\0');
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(directives), cmocka_unit_test(any_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
