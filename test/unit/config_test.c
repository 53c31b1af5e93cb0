/* SPDX-License-Identifier: MIT
   Files that are right, and what is said of those that are wrong.

   Every message is told whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "serve/config/config.h"
#include "unit/plans.h"

static unsigned number(void *context, const char *name)
{
    (void)context;
    return (unsigned)strlen(name);
}

static struct tables *open_tables(void)
{
    struct tables *tables;
    const struct tables_options options = {.keys_max = 1000};
    assert_int_equal(tables_open(&tables, &options, NULL), 0);
    return tables;
}

static struct config config_of(const char *text)
{
    struct config config;
    struct config_problem problem;
    if (!config_read(slice_of(text), &config, &problem)) {
        fail_msg("%u:%u: %s\n%s", problem.line, problem.column, problem.message, text);
    }
    return config;
}

static struct policy *policy_of(const char *text, struct tables *tables)
{
    struct config_problem problem;
    struct policy *policy = config_policy(slice_of(text), tables, NULL, number, NULL, &problem);
    if (policy == NULL) fail_msg("%u:%u: %s\n%s", problem.line, problem.column, problem.message, text);
    return policy;
}

/* ---- right ---- */

static const char example[] =
    "listen:\n"
    "  resp: 127.0.0.1:9347\n"
    "  http: '[::1]:9348'\n"
    "  unix: /run/weir/weir.sock\n"
    "  unix_mode: \"0660\"\n"
    "  hosts: [weir.example, '[2001:db8::1]']\n"
    "  connections: 10k\n"
    "  idle: 5min\n"
    "  tls: {certificate: cert.pem, key: key.pem}\n"
    "  public: without-password\n"
    "table: {keys: 1_000_000, state: /var/lib/weir/table, when_full: deny, wide_memory: 256MiB}\n"
    "engine: {url: 'redis+cluster://10.0.0.5:6379,10.0.0.6', user: weir, deadline: 50ms, away: closed, nodes: 4,\n"
    "         lease: 100ms, prefix: 'w:'}\n"
    "password: \"s3cret # 1\"\n"
    "threads: 2\n"
    "user: weir\n"
    "group: www\n"
    "limits:\n"
    "  api:   {limit: \"60 requests/min; 100k tokens/min\", key: [tenant], shadow: false}\n"
    "  login: {limit: \"5/15min algorithm=sliding-log\", key: [address/64], exempt: [10.0.0.0/8, '2001:db8::/32']}\n"
    "  both:  {limit: 10/s, key: [tenant, address/24/48], shadow: true}\n"
    "  all:   {limit: 1000/s, key: none}\n"
    "  bare: 60/min\n"
    "  warm: {limit: 10/s warmup=10s, engine: off}\n"
    "  open: {limit: 10/s, away: open}\n"
    "overrides:\n"
    "  api: {\"acme\": \"600 requests/min; 1M tokens/min\", big: \"600 requests/min; 1M tokens/min\", none: none}\n"
    "  login: {203.0.113.9: 1/h, 2001:DB8:1::5: 2/h algorithm=sliding-log, \"2002::/64\": unlimited}\n"
    "  both: {\"acme,203.0.113.9\": 1/h}\n";

static void settings(void **state)
{
    (void)state;
    struct config config = config_of(example);
    assert_string_equal(config.resp, "127.0.0.1:9347");
    assert_string_equal(config.http, "[::1]:9348");
    assert_string_equal(config.unix_path, "/run/weir/weir.sock");
    assert_int_equal(config.unix_mode, 0660);
    assert_int_equal(config.host_count, 2);
    assert_string_equal(config.hosts[0], "weir.example");
    assert_string_equal(config.hosts[1], "[2001:db8::1]");
    assert_int_equal(config.connections_max, 10000);
    assert_int_equal(config.idle_ns, 300 * S);
    assert_string_equal(config.tls_certificate, "cert.pem");
    assert_string_equal(config.tls_key, "key.pem");
    assert_true(config.public_without_password);
    assert_int_equal(config.keys_max, 1000000);
    assert_int_equal(config.wide_bytes, 256 << 20);
    assert_string_equal(config.state, "/var/lib/weir/table");
    assert_int_equal(config.when_full, WEIR_FULL_DENY);
    assert_string_equal(config.password.text[0], "s3cret # 1");
    assert_true(config.password_in_config);
    assert_int_equal(config.threads, 2);
    assert_string_equal(config.user, "weir");
    assert_string_equal(config.group, "www");
    assert_string_equal(config.engine.url, "redis+cluster://10.0.0.5:6379,10.0.0.6");
    assert_string_equal(config.engine.user, "weir");
    assert_string_equal(config.engine.prefix, "w:");
    assert_null(config.engine.password);
    assert_int_equal(config.engine.deadline_ns, 50000000);
    assert_int_equal(config.engine.away, WEIR_AWAY_CLOSED);
    assert_int_equal(config.engine.nodes, 4);
    assert_int_equal(config.engine.lease_ns, 100000000);
    assert_int_equal(config.engine.line, 12);
    assert_int_equal(config.engine.column, 16);
    assert_null(config.policy);
    config_free(&config);
    config = config_of("engine: {url: 'redis://x', lease: off}");
    assert_int_equal(config.engine.lease_ns, 0);
    assert_int_equal(config.engine.away, WEIR_AWAY_DEFAULT);
    assert_false(config.password_in_config);
    config_free(&config);
    config = config_of("engine: {url: 'redis://weir:secret@x/1'}");
    assert_true(config.password_in_config);
    config_free(&config);
}

static void where_limits_are_kept(void **state)
{
    (void)state;
    struct tables *tables = open_tables();
    struct policy *policy = policy_of(example, tables);
    assert_true(policy_find(policy, slice_of("warm"))->here);
    assert_false(policy_find(policy, slice_of("open"))->here);
    assert_int_equal(policy_find(policy, slice_of("open"))->away, WEIR_AWAY_OPEN);
    assert_int_equal(policy_find(policy, slice_of("api"))->away, WEIR_AWAY_DEFAULT);
    policy_free(policy);
    tables_close(tables);
}

static void assert_key(const struct policy *policy, const char *name, const char *given, const char *key,
                       const char *text)
{
    const struct policy_limit *limit = policy_find(policy, slice_of(name));
    char memory[256], is[256];
    struct bytes out = {memory, 0, sizeof memory, false};
    const char *missing;
    assert_non_null(limit);
    assert_int_equal(limit->number, strlen(name));
    assert_true(policy_key_given(limit, slice_of(given), &out, &missing));
    assert_true(slice_is(bytes_slice(&out), slice_of(key)));
    const struct policy_verdict verdict = policy_resolve(limit, bytes_slice(&out));
    const weir_plan expected = plan_of(text);
    char canonical[256];
    weir_plan_text(&expected, canonical, sizeof canonical);
    weir_plan_text(verdict.plan, is, sizeof is);
    assert_string_equal(is, canonical);
    assert_int_equal(weir_table_fits(verdict.table, verdict.plan, NULL), 0);
}

static void limits(void **state)
{
    (void)state;
    struct tables *tables = open_tables();
    struct policy *policy = policy_of(example, tables);
    assert_int_equal(policy->limit_count, 7);
    assert_key(policy, "api", "other", "other", "60 requests/min; 100k tokens/min");
    assert_key(policy, "api", "acme", "acme", "600 requests/min; 1M tokens/min");
    assert_key(policy, "api", "none", "none", "none");
    assert_ptr_equal(policy_resolve(policy_find(policy, slice_of("api")), slice_of("acme")).plan,
                     policy_resolve(policy_find(policy, slice_of("api")), slice_of("big")).plan);
    assert_key(policy, "login", "203.0.113.8", "203.0.113.8", "5/15min algorithm=sliding-log");
    assert_key(policy, "login", "::ffff:203.0.113.9", "203.0.113.9", "1/h");
    assert_key(policy, "login", "2001:db8:1::7", "2001:db8:1::/64", "2/h algorithm=sliding-log");
    assert_key(policy, "login", "2001:db8:2::7", "2001:db8:2::/64", "unlimited");
    assert_key(policy, "login", "10.255.0.1", "10.255.0.1", "unlimited");
    assert_key(policy, "login", "2002::9", "2002::/64", "unlimited");
    assert_key(policy, "both", "acme,203.0.113.77", "acme,203.0.113.0/24", "1/h");
    assert_key(policy, "all", "whoever", "", "1000/s");
    assert_key(policy, "bare", "a,b", "a,b", "60/min");
    assert_true(policy_find(policy, slice_of("both"))->shadow);
    assert_false(policy_find(policy, slice_of("api"))->shadow);
    policy_free(policy);
    tables_close(tables);
}

static void other_spellings(void **state)
{
    (void)state;
    static const char *const good[] = {
        "",
        "# nothing\n",
        "---\n",
        "\xef\xbb\xbflimits: {a: 1/s}\n",
        "{\"limits\": {\"a\": {\"limit\": \"1/s\", \"key\": [\"tenant\"], \"shadow\": true}}}",
        "limits:\n  a:\n    limit: |\n      1/s\n",
        "limits:\n  a: >-\n    60/min;\n    100/h\n",
        "limits: {a: {limit: 1/s, key: []}}",
        "limits: {a: {limit: 1/s, key: tenant}}",
        "limits: {a: {limit: 1/s, key: [address], exempt: []}}",
        "limits: {}\noverrides: {}\n",
        "listen: {resp: none, http: ':0', idle: 1s}\n",
        "listen: {resp: 'localhost:9347'}\n",
        "listen: {resp: 9347, http: 'unix:/run/weir/http.sock', idle: 1.5min}\n",
        "table: {keys: 1.5k, wide_memory: 1.5GiB, settle: 1.5h}\n",
        "overrides: {a: {b: 1/h}}\nlimits: {a: 1/s}\n",
        "domain: a\n",
        "%YAML 1.2\n---\nthreads: 64\n...\n",
    };
    struct tables *tables = open_tables();
    for (size_t i = 0; i < LENGTH(good); i++) {
        struct config config = config_of(good[i]);
        config_free(&config);
        policy_free(policy_of(good[i], tables));
    }
    tables_close(tables);
}

/* ---- wrong ---- */

static const struct {
    const char *text, *said;
} wrongs[] = {
#include "unit/config_wrong.h"
};

static void say(const char *text, size_t size, char said[600])
{
    struct config config;
    struct config_problem problem, again;
    char *own = malloc(size + 1);
    assert_non_null(own);
    memcpy(own + 1, text, size); /* nothing behind it may be read */
    const struct slice slice = {own + 1, size};
    struct tables *tables = open_tables();
    const bool good = config_read(slice, &config, &problem);
    struct policy *policy = config_policy(slice, tables, NULL, NULL, NULL, &again);
    assert_int_equal(good, policy != NULL);
    snprintf(said, 600, "right");
    if (good) config_free(&config);
    else {
        snprintf(said, 600, "%u:%u: %s", problem.line, problem.column, problem.message);
        assert_string_equal(problem.message, again.message);
        assert_int_equal(problem.line, again.line);
        assert_int_equal(problem.column, again.column);
    }
    policy_free(policy);
    tables_close(tables);
    free(own);
}

static void messages(void **state)
{
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < LENGTH(wrongs); i++) {
        char said[600];
        say(wrongs[i].text, strlen(wrongs[i].text), said);
        if (strcmp(said, wrongs[i].said) == 0) continue;
        print_error("%s\n  says     %s\n  expected %s\n", wrongs[i].text, said, wrongs[i].said);
        failed++;
    }
    assert_int_equal(failed, 0);
}

static void too_much(void **state)
{
    (void)state;
    enum { LARGE = (16 << 20) + 1 };
    char said[600], *text = malloc(LARGE);
    assert_non_null(text);
    memset(text, ' ', LARGE);
    say(text, LARGE, said);
    assert_string_equal(said, "0:0: more than 16 MiB");
    memset(text, '[', 100);
    say(text, 100, said);
    assert_string_equal(said, "1:33: nested more than 32 deep");
    size_t size = 0;
    size += (size_t)sprintf(text, "limits:\n");
    for (int i = 0; i < 1025; i++) size += (size_t)sprintf(text + size, "  a%d: 1/s\n", i);
    say(text, size, said);
    assert_string_equal(said, "2:3: limits: expected up to 1024 limits");
    size = (size_t)sprintf(text, "limits: {a: 1/s}\noverrides:\n  a:\n");
    for (int i = 0; i < 4097; i++) size += (size_t)sprintf(text + size, "    k%d: %d/h\n", i, i + 1);
    say(text, size, said);
    assert_string_equal(
        said, "4100:12: overrides.a.k4096: more than 4096 different limits; expected fewer, each for more keys");
    size = (size_t)sprintf(text, "limits: {a: 1/s}\noverrides:\n  a:\n");
    for (int i = 0; i < 100001; i++) size += (size_t)sprintf(text + size, "    k%d: 1/h\n", i);
    say(text, size, said);
    assert_string_equal(said, "3:3: overrides: expected up to 100,000 keys in all");
    size = (size_t)sprintf(text, "x: [1");
    for (int i = 0; i < 600000; i++) size += (size_t)sprintf(text + size, ",1");
    say(text, size, said);
    assert_string_equal(said, "1:1048575: more than 524,288 values; expected fewer overrides");
    free(text);
}

static void many_overrides(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    char *text = malloc(MANY * 20 + 100), key[16];
    assert_non_null(text);
    size_t size = (size_t)sprintf(text, "limits: {api: 1/s}\noverrides:\n  api:\n");
    for (int i = 0; i < MANY; i++) size += (size_t)sprintf(text + size, "    k%d: %d/h\n", i, i % 10 + 1);
    struct tables *tables = open_tables();
    struct policy *policy = policy_of(text, tables);
    for (int i = 0; i < MANY; i += 997) {
        char expected[16];
        snprintf(key, sizeof key, "k%d", i);
        snprintf(expected, sizeof expected, "%d/h", i % 10 + 1);
        assert_key(policy, "api", key, key, expected);
    }
    policy_free(policy);
    tables_close(tables);
    free(text);
}

/* ---- the password's file ---- */

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void password_file(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        mode_t mode;
        const char *problem; /* NULL: it is s3cret */
    } rows[] = {
        {"s3cret\n", 0600, NULL},
        {"s3cret", 0640, NULL},
        {"s3cret\r\n", 0400, NULL},
        {"s3cret\n", 0604, " can be read by all users of this machine; expected chmod 600, or 640 and a group"},
        {"", 0600, " is empty; expected the password"},
        {"\n", 0600, " is empty; expected the password"},
        {"s3cret\nold\n", 0600, NULL},
        {"s3cret\r\n\nold\r\n", 0600, NULL},
        {"a\nb\nc\n", 0600, " has more than two lines"},
    };
    char folder[] = "/tmp/weir-config-XXXXXX", path[64], text[128], expected[200];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/password", folder);
    snprintf(text, sizeof text, "password_file: %s", path);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct config config;
        struct config_problem problem;
        write_file(path, rows[i].text, rows[i].mode);
        const bool good = config_read(slice_of(text), &config, &problem);
        assert_int_equal(unlink(path), 0);
        if (rows[i].problem == NULL) {
            assert_true(good);
            assert_string_equal(config.password.text[0], "s3cret");
            assert_false(config.password_in_config);
            config_free(&config);
            continue;
        }
        snprintf(expected, sizeof expected, "password_file: \"%s\"%s", path, rows[i].problem);
        assert_false(good);
        assert_string_equal(problem.message, expected);
    }
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody waits for what is no file */
    struct config config;
    struct config_problem problem;
    assert_false(config_read(slice_of(text), &config, &problem));
    assert_non_null(strstr(problem.message, "is not a regular file"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- envoyproxy/ratelimit ---- */

static const char envoy[] = "domain: apis\n"
                            "descriptors:\n"
                            "  - key: path\n"
                            "    value: /foo bar\n"
                            "    rate_limit: {unit: minute, requests_per_unit: 60}\n"
                            "    detailed_metric: true\n"
                            "  - key: path\n"
                            "    rate_limit: {name: every_path, unit: SECOND, requests_per_unit: 5}\n"
                            "    shadow_mode: true\n"
                            "  - key: path\n"
                            "    value: free\n"
                            "  - key: path\n"
                            "    value: shut\n"
                            "    rate_limit: {unit: day, requests_per_unit: 0}\n"
                            "  - key: user\n"
                            "    descriptors:\n"
                            "      - key: remote_address\n"
                            "        rate_limit: {unit: hour, requests_per_unit: 9, unit_multiplier: 2}\n"
                            "      - key: plan\n"
                            "        value: gold\n"
                            "        rate_limit: {unlimited: true}\n"
                            "  - {key: m, value: a, rate_limit: {unit: month, requests_per_unit: 4294967295}}\n"
                            "  - {key: y, rate_limit: {unit: year, requests_per_unit: 7}}\n"
                            "  - {key: w, value: \"\", rate_limit: {unit: week, requests_per_unit: 7, replaces: []}}\n";

static void envoy_file(void **state)
{
    (void)state;
    struct tables *tables = open_tables();
    struct policy *policy = policy_of(envoy, tables);
    assert_int_equal(policy->limit_count, 9);
    assert_key(policy, "apis/path_/foo_bar", "any", "", "60/min algorithm=fixed-window align=clock");
    assert_key(policy, "apis/path", "/x", "/x", "5/s algorithm=fixed-window align=clock");
    assert_true(policy_find(policy, slice_of("apis/path"))->shadow);
    assert_key(policy, "apis/path_free", "any", "", "unlimited");
    assert_key(policy, "apis/path_shut", "any", "", "none");
    assert_key(policy, "apis/user/remote_address", "u1,::1", "u1,::1", "9/2h algorithm=fixed-window align=clock");
    assert_key(policy, "apis/user/plan_gold", "u1", "u1", "unlimited");
    assert_key(policy, "apis/m_a", "", "", "4294967295/30d algorithm=fixed-window align=clock");
    assert_key(policy, "apis/y", "v", "v", "7/365d algorithm=fixed-window align=clock");
    assert_key(policy, "apis/w", "v", "v", "7/7d algorithm=fixed-window align=clock");
    assert_string_equal(policy_find(policy, slice_of("apis/user/remote_address"))->part[1].name, "remote_address");
    policy_free(policy);
    tables_close(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings),       cmocka_unit_test(where_limits_are_kept),
        cmocka_unit_test(limits),         cmocka_unit_test(other_spellings),
        cmocka_unit_test(messages),       cmocka_unit_test(too_much),
        cmocka_unit_test(many_overrides), cmocka_unit_test(password_file),
        cmocka_unit_test(envoy_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
