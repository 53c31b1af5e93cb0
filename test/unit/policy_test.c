/* SPDX-License-Identifier: MIT
   Names, keys, exempt networks, overrides, and one policy after the other.

   Every key and verdict is worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/address_text.h"
#include "serve/policy/policy.h"
#include "unit/plans.h"

enum { ROOM = 4096 };

static struct tables *open_tables(void)
{
    struct tables *tables;
    const struct tables_options options = {.keys_max = 1000};
    assert_int_equal(tables_open(&tables, &options, NULL), 0);
    return tables;
}

/* A limit with these parts, "," between them. */
static struct policy_limit limit_by(const char *parts)
{
    struct policy_limit limit = {.plan = plan_of("10/s")};
    struct slice rest = slice_of(parts);
    while (rest.size != 0) {
        const struct slice part = policy_key_next(&rest);
        const char *problem = policy_part_read(part, &limit.part[limit.parts++]);
        if (problem != NULL) fail_msg("%s: %s", parts, problem);
    }
    return limit;
}

/* ---- names and parts ---- */

static void names(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "api", "apis/path_foo", "A-1.b:c", "x123456789"};
    static const char *const bad[] = {"", "1", "_a", "a b", "a,b", "\xc3\xa4", "10/s", "unlimited", "none", "a\n"};
    for (size_t i = 0; i < LENGTH(good); i++) assert_null(policy_name_problem(slice_of(good[i])));
    for (size_t i = 0; i < LENGTH(bad); i++) assert_non_null(policy_name_problem(slice_of(bad[i])));
    char long_name[POLICY_NAME_MAX + 2];
    memset(long_name, 'a', sizeof long_name);
    assert_null(policy_name_problem((struct slice){long_name, POLICY_NAME_MAX}));
    assert_non_null(policy_name_problem((struct slice){long_name, POLICY_NAME_MAX + 1}));
    assert_non_null(policy_name_problem((struct slice){"a\0b", 3}));
}

static void parts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool address;
        int v4, v6; /* -1: it is refused */
    } rows[] = {
        {"tenant", false, 32, 64},
        {"header.x-api-key", false, 32, 64},
        {"address", true, 32, 64},
        {"address/64", true, 32, 64},
        {"address/128", true, 32, 128},
        {"address/33", true, 32, 33},
        {"address/24/48", true, 24, 48},
        {"address/32/32", true, 32, 32},
        {"address/1/1", true, 1, 1},
        {"addresses", false, 32, 64},
        {"path", false, 32, 64},
        {"path/", false, 0, -1},
        {"path/upper", false, 0, -1},
        {"address/32", true, 0, -1},
        {"address/129", true, 0, -1},
        {"address/", true, 0, -1},
        {"address/33/64", true, 0, -1},
        {"address/24/129", true, 0, -1},
        {"address/24/", true, 0, -1},
        {"address/a", true, 0, -1},
        {"address/064", true, 0, -1},
        {"address/0/64", true, 0, -1},
        {"tenant/64", true, 0, -1},
        {"", true, 0, -1},
        {"a b", true, 0, -1},
        {"1a", true, 0, -1},
        {"address/99999999999", true, 0, -1},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct policy_part part;
        const char *problem = policy_part_read(slice_of(rows[i].text), &part);
        if ((problem == NULL) != (rows[i].v6 != -1)) fail_msg("%s: %s", rows[i].text, problem != NULL ? problem : "");
        if (problem != NULL) continue;
        assert_int_equal(part.address, rows[i].address);
        assert_int_equal(part.bits_v4, rows[i].v4);
        assert_int_equal(part.bits_v6, rows[i].v6);
        if (part.address) assert_string_equal(part.name, "address");
        else assert_string_equal(part.name, rows[i].text);
    }
}

/* ---- keys ---- */

struct request {
    const char *tenant, *address, *key, *path;
};

static struct slice field(void *context, const char *name)
{
    const struct request *request = context;
    const char *value = NULL;
    if (strcmp(name, "tenant") == 0) value = request->tenant;
    if (strcmp(name, "address") == 0) value = request->address;
    if (strcmp(name, "key") == 0) value = request->key;
    if (strcmp(name, "path") == 0) value = request->path;
    return value != NULL ? slice_of(value) : (struct slice){NULL, 0};
}

static const struct {
    const char *parts;
    struct request request;
    const char *key, *missing;
} made[] = {
    {"tenant", {.tenant = "acme"}, "acme", NULL},
    {"tenant", {.tenant = "a,\\b"}, "a,\\b", NULL},
    {"tenant", {.address = "10.1.2.3"}, NULL, "tenant"},
    {"path", {.path = "//Login/%6c"}, "//Login/%6c", NULL},
    {"path/normal", {.path = "/login"}, "/login", NULL},
    {"path/normal", {.path = "//login"}, "/login", NULL},
    {"path/normal", {.path = "/%6cogi%6E"}, "/login", NULL},
    {"path/normal", {.path = "/a/./b/%2e%2E/../login"}, "/login", NULL},
    {"path/normal", {.path = "/..//%2f/../login"}, "/login", NULL},
    {"path/normal", {.path = "/login/"}, "/login/", NULL},
    {"path/normal", {.path = "/login/."}, "/login/", NULL},
    {"path/normal", {.path = "/login/.."}, "/", NULL},
    {"path/normal", {.path = "/.."}, "/", NULL},
    {"path/normal", {.path = "/a%2flogin%2F..%2Fb"}, "/a/b", NULL},
    {"path/normal", {.path = "/%2541"}, "/%41", NULL},
    {"path/normal", {.path = "/%4"}, "/%4", NULL},
    {"path/normal", {.path = "/%zz..a/...%"}, "/%zz..a/...%", NULL},
    {"path/normal", {.path = "/LOGIN"}, "/LOGIN", NULL},
    {"path/normal", {.path = "*"}, "*", NULL},
    {"path/normal", {.path = "a/../../b"}, "/b", NULL},
    {"path/lower", {.path = "//LOGI%4e"}, "/login", NULL},
    {"path/lower", {.path = "/\xc3\x84Z"}, "/\xc3\x84z", NULL},
    {"tenant,path/lower", {.tenant = "t", .path = "/A,\\%5c"}, "t,/a\\,\\\\\\\\", NULL},
    {"path/normal", {.tenant = "t"}, NULL, "path"},
    {"", {.key = "all of it, \\"}, "all of it, \\", NULL},
    {"", {.tenant = "acme"}, NULL, "key"},
    {"address", {.address = "203.0.113.9"}, "203.0.113.9", NULL},
    {"address", {.address = "2001:DB8:1:2:3:4:5:6"}, "2001:db8:1:2::/64", NULL},
    {"address/128", {.address = "2001:DB8:0:0::1"}, "2001:db8::1", NULL},
    {"address/24/48", {.address = "203.0.113.9"}, "203.0.113.0/24", NULL},
    {"address/24/48", {.address = "::ffff:203.0.113.9"}, "203.0.113.0/24", NULL},
    {"address/24/48", {.address = "2001:db8:1:2::9"}, "2001:db8:1::/48", NULL},
    {"address", {.address = "203.0.113.9/32"}, NULL, "address"},
    {"address", {.address = "somewhere"}, NULL, "address"},
    {"tenant,address", {"acme", "fe80::1%eth0", NULL, NULL}, "acme,fe80::/64", NULL},
    {"tenant,address", {"a,b\\", "10.1.2.3", NULL, NULL}, "a\\,b\\\\,10.1.2.3", NULL},
    {"address,tenant", {"acme", "10.1.2.3", NULL, NULL}, "10.1.2.3,acme", NULL},
    {"address,tenant", {"acme", NULL, NULL, NULL}, NULL, "address"},
};

static void keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(made); i++) {
        const struct policy_limit limit = limit_by(made[i].parts);
        struct request request = made[i].request;
        char memory[ROOM] = "before";
        struct bytes out = {memory, 6, ROOM, false};
        const char *missing = NULL;
        const bool good = policy_key(&limit, field, &request, &out, &missing);
        assert_int_equal(good, made[i].key != NULL);
        if (made[i].key == NULL) {
            assert_int_equal(out.size, 6);
            assert_string_equal(missing, made[i].missing);
            continue;
        }
        assert_int_equal(out.size, 6 + strlen(made[i].key));
        assert_memory_equal(memory + 6, made[i].key, strlen(made[i].key));
    }
}

static const struct {
    const char *parts, *given, *key, *missing;
} whole[] = {
    {"", "acme", "acme", NULL},
    {"", "", "", NULL},
    {"", "a,b\\", "a,b\\", NULL},
    {"tenant", "a,b\\", "a,b\\", NULL},
    {"tenant", "", NULL, "tenant"},
    {"address", "10.1.2.3", "10.1.2.3", NULL},
    {"address", "2001:db8:1:2:3::4", "2001:db8:1:2::/64", NULL},
    {"address", "2001:db8:1:2::/64", "2001:db8:1:2::/64", NULL},
    {"address", "2001:db8:1:2::/96", "2001:db8:1:2::/64", NULL},
    {"address", "2001:db8::/32", NULL, "address"},
    {"address/24/64", "10.1.2.3/32", "10.1.2.0/24", NULL},
    {"address", "acme", NULL, "address"},
    {"tenant,address", "acme,10.1.2.3", "acme,10.1.2.3", NULL},
    {"tenant,address", "a\\,b,10.1.2.3", "a\\,b,10.1.2.3", NULL},
    {"tenant,address", "a\\b\\\\,10.1.2.3", "ab\\\\,10.1.2.3", NULL},
    {"tenant,address", "a,b,10.1.2.3", NULL, "address"},
    {"tenant,address", "acme", NULL, "address"},
    {"tenant,address", "acme,", NULL, "address"},
    {"tenant,address", ",10.1.2.3", NULL, "tenant"},
    {"tenant,address", "", NULL, "tenant"},
    {"address,tenant", "10.1.2.3,acme,", NULL, "tenant"},
    {"address,tenant", "10.1.2.3,acme\\", "10.1.2.3,acme\\\\", NULL},
};

static void keys_given(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(whole); i++) {
        const struct policy_limit limit = limit_by(whole[i].parts);
        const size_t size = strlen(whole[i].given);
        char memory[ROOM], *own = malloc(size + 1); /* nothing behind it may be read */
        assert_non_null(own);
        memcpy(own + 1, whole[i].given, size);
        struct bytes out = {memory, 0, ROOM, false};
        const char *missing = NULL;
        const bool good = policy_key_given(&limit, (struct slice){own + 1, size}, &out, &missing);
        free(own);
        if (good != (whole[i].key != NULL)) fail_msg("%s of %s", whole[i].given, whole[i].parts);
        if (whole[i].key == NULL) {
            assert_int_equal(out.size, 0);
            assert_string_equal(missing, whole[i].missing);
            continue;
        }
        assert_int_equal(out.size, strlen(whole[i].key));
        assert_memory_equal(memory, whole[i].key, out.size);
    }
}

/* What is made is the same when it is given again. */
static void made_is_given(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(made); i++) {
        const struct policy_limit limit = limit_by(made[i].parts);
        char memory[ROOM];
        struct bytes out = {memory, 0, ROOM, false};
        const char *missing;
        if (made[i].key == NULL) continue;
        assert_true(policy_key_given(&limit, slice_of(made[i].key), &out, &missing));
        assert_true(slice_is(bytes_slice(&out), slice_of(made[i].key)));
    }
}

/* All together: what is given does not matter, and nothing need be. */
static void no_key(void **state)
{
    (void)state;
    const struct policy_limit limit = {.common = true};
    struct request request = {.key = "acme"};
    char memory[ROOM];
    struct bytes out = {memory, 0, ROOM, false};
    const char *missing;
    assert_true(policy_key(&limit, field, &request, &out, &missing));
    assert_true(policy_key_given(&limit, slice_of("acme"), &out, &missing));
    assert_int_equal(out.size, 0);
}

static void too_long(void **state)
{
    (void)state;
    static char tenant[POLICY_KEY_MAX + 1], memory[ROOM];
    memset(tenant, 'a', POLICY_KEY_MAX);
    const struct policy_limit limit = limit_by("tenant"), both = limit_by("tenant,address");
    struct request request = {.tenant = tenant, .address = "::1"};
    const char *missing;
    struct bytes out = {memory, 0, ROOM, false};
    assert_true(policy_key(&limit, field, &request, &out, &missing));
    assert_int_equal(out.size, POLICY_KEY_MAX);
    assert_false(policy_key(&both, field, &request, &out, &missing));
    assert_true(out.full);
    assert_int_equal(out.size, POLICY_KEY_MAX);
    out = (struct bytes){memory, 0, POLICY_KEY_MAX - 1, false};
    assert_false(policy_key_given(&limit, slice_of(tenant), &out, &missing));
    assert_true(out.full);
    assert_int_equal(out.size, 0);
}

/* ---- a whole policy ---- */

static struct policy_network network(const char *text)
{
    struct policy_network network = {.bits = 0};
    const size_t size = address_read_network(slice_of(text), network.address, &network.bits);
    assert_true(size != 0);
    network.v6 = size == ADDRESS_V6;
    return network;
}

/* login: by address, 10.0.0.0/8 and 2001::/16 exempt, 10.9.9.9 and 192.0.2.1 overridden; api: by its whole key. */
static struct policy *example(struct tables *tables)
{
    const struct policy_network nets[] = {network("10.0.0.0/8"), network("2001::/16")};
    weir_plan *plans = calloc(2, sizeof *plans);
    if (plans == NULL) abort();
    plans[0] = plan_of("1/h");
    plans[1] = plan_of("2/h algorithm=sliding-log");
    const struct policy_override overrides[] = {
        {slice_of("10.9.9.9"), &plans[0], tables_for(tables, &plans[0], NULL), NULL},
        {slice_of("192.0.2.1"), &plans[1], tables_for(tables, &plans[1], NULL), NULL},
    };
    assert_non_null(overrides[0].table);
    assert_non_null(overrides[1].table);
    struct policy_limit login = limit_by("address"), api = limit_by("");
    strcpy(login.name, "login");
    strcpy(api.name, "api");
    login.table = api.table = tables_for(tables, &login.plan, NULL);
    assert_non_null(api.table);
    api.shadow = true;
    api.number = 7;
    struct policy *policy = policy_open(2);
    assert_non_null(policy);
    assert_true(policy_more_make(&login, nets, 2, overrides, 2, plans));
    policy_add(policy, &login);
    policy_add(policy, &api);
    assert_true(policy_index_names(policy));
    return policy;
}

static const struct policy_limit *found(const struct policy *policy, const char *name)
{
    return policy_find(policy, slice_of(name));
}

static void assert_plan(const struct policy *policy, const char *name, const char *key, const char *text)
{
    const struct policy_limit *limit = found(policy, name);
    assert_non_null(limit);
    const struct policy_verdict verdict = policy_resolve(limit, slice_of(key));
    char is[256];
    weir_plan_text(verdict.plan, is, sizeof is);
    if (strncmp(is, text, strlen(text)) != 0) fail_msg("%s of %s is under %s, not %s", key, name, is, text);
    assert_int_equal(weir_table_fits(verdict.table, verdict.plan, NULL), 0);
    assert_int_equal(verdict.shadow, limit->shadow);
}

static void resolved(void **state)
{
    (void)state;
    struct tables *tables = open_tables();
    struct policy *policy = example(tables);
    assert_plan(policy, "login", "192.0.2.9", "10/s");
    assert_plan(policy, "login", "192.0.2.1", "2/h");
    assert_plan(policy, "login", "10.9.9.9", "1/h"); /* who has a limit of its own is not exempt */
    assert_plan(policy, "login", "10.9.9.8", "unlimited");
    assert_plan(policy, "login", "11.0.0.0", "10/s");
    assert_plan(policy, "login", "2001:db8::/64", "unlimited");
    assert_plan(policy, "login", "2002:db8::/64", "10/s");
    assert_plan(policy, "login", "no address", "10/s");
    assert_plan(policy, "api", "10.9.9.9", "10/s");
    assert_null(found(policy, "apis"));
    assert_null(found(policy, "ap"));
    assert_null(found(policy, ""));
    assert_null(policy_find(policy, (struct slice){"api\0", 4}));
    policy_free(policy);
    tables_close(tables);
}

/* The address may be any part, and what is coarser than a network is not in it. */
static void exempt_of_parts(void **state)
{
    (void)state;
    const struct policy_network nets[] = {network("10.0.0.0/16")};
    struct policy_limit limit = limit_by("tenant,address/8/64");
    assert_true(policy_more_make(&limit, nets, 1, NULL, 0, NULL));
    assert_ptr_equal(policy_resolve(&limit, slice_of("acme,10.0.0.0/8")).plan, &limit.plan);
    limit.part[1].bits_v4 = 32;
    assert_ptr_not_equal(policy_resolve(&limit, slice_of("a\\,10.0.0.9,10.0.0.9")).plan, &limit.plan);
    assert_ptr_equal(policy_resolve(&limit, slice_of("10.0.0.9,10.1.0.9")).plan, &limit.plan);
    policy_more_release(limit.more);
}

static struct policy *with(const struct policy *old, struct tables *tables, const char *name, const char *text)
{
    weir_error error = {0};
    struct policy *policy = policy_with(old, tables, slice_of(name), text, &error);
    if (policy == NULL) fail_msg("%s: %s", name, error.message);
    return policy;
}

static void one_after_the_other(void **state)
{
    (void)state;
    struct tables *tables = open_tables();
    struct policy *first = example(tables);
    struct policy *second = with(first, tables, "login", "20/s");
    struct policy *third = with(second, tables, "new", "5/min algorithm=sliding-window");
    assert_plan(first, "login", "192.0.2.9", "10/s");
    assert_null(found(first, "new"));
    policy_free(first);
    assert_plan(second, "login", "192.0.2.9", "20/s");
    assert_plan(second, "login", "192.0.2.1", "2/h"); /* what it has beside its limit stays */
    assert_plan(second, "login", "10.9.9.8", "unlimited");
    assert_int_equal(found(second, "api")->number, 7);
    assert_true(found(second, "api")->shadow);
    policy_free(second);
    assert_int_equal(third->limit_count, 3);
    assert_plan(third, "new", "anybody", "5/min");
    struct policy *fourth = with(third, tables, "login", NULL);
    policy_free(third);
    assert_int_equal(fourth->limit_count, 2);
    assert_null(found(fourth, "login"));
    assert_plan(fourth, "new", "anybody", "5/min");
    policy_free(fourth);
    tables_close(tables);
}

static void refused(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"no-such", NULL, "no limit has this name"},
        {"1/s", "1/s", "begins with a letter"},
        {"api", "1/", "expected a period"},
        {"api", "9000000/h algorithm=sliding-log", "at most 8000 permits"},
    };
    struct tables *tables = open_tables();
    struct policy *policy = example(tables);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        weir_error error = {0};
        assert_null(policy_with(policy, tables, slice_of(rows[i][0]), rows[i][1], &error));
        assert_true(error.code < 0);
        if (strstr(error.message, rows[i][2]) == NULL) fail_msg("%s", error.message);
    }
    weir_error error = {0};
    assert_null(policy_with(NULL, tables, slice_of("api"), NULL, &error));
    policy_free(policy);
    policy_free(NULL);
    tables_close(tables);
}

static void as_many_as_there_may_be(void **state)
{
    (void)state;
    struct tables *tables = open_tables();
    struct policy *policy = NULL;
    weir_error error = {0};
    char name[32];
    for (int i = 0; i < POLICY_LIMITS_MAX; i++) {
        snprintf(name, sizeof name, "limit-%d", i);
        struct policy *next = with(policy, tables, name, "10/s");
        policy_free(policy);
        policy = next;
    }
    for (int i = 0; i < POLICY_LIMITS_MAX; i++) {
        snprintf(name, sizeof name, "limit-%d", i);
        assert_string_equal(found(policy, name)->name, name);
    }
    assert_null(policy_with(policy, tables, slice_of("one-more"), "10/s", &error));
    assert_non_null(strstr(error.message, "1024"));
    struct policy *changed = with(policy, tables, "limit-1000", "20/s");
    assert_plan(changed, "limit-1000", "", "20/s");
    policy_free(changed);
    policy_free(policy);
    tables_close(tables);
}

static void many_overrides(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    struct policy_override *overrides = calloc(MANY, sizeof *overrides);
    char(*name)[16] = calloc(MANY, sizeof *name);
    weir_plan *plans = calloc(1, sizeof *plans);
    if (overrides == NULL || name == NULL || plans == NULL) abort();
    plans[0] = plan_of("1/h");
    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "key-%d", i);
        overrides[i] = (struct policy_override){slice_of(name[i]), &plans[0], NULL, NULL};
    }
    struct policy_limit limit = limit_by("");
    assert_true(policy_more_make(&limit, NULL, 0, overrides, MANY, plans));
    for (int i = 0; i < MANY; i++) assert_ptr_equal(policy_resolve(&limit, slice_of(name[i])).plan, plans);
    assert_ptr_equal(policy_resolve(&limit, slice_of("key-100000")).plan, &limit.plan);
    free(overrides);
    free(name);
    policy_more_release(limit.more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(parts),
        cmocka_unit_test(keys),
        cmocka_unit_test(keys_given),
        cmocka_unit_test(made_is_given),
        cmocka_unit_test(no_key),
        cmocka_unit_test(too_long),
        cmocka_unit_test(resolved),
        cmocka_unit_test(exempt_of_parts),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(refused),
        cmocka_unit_test(as_many_as_there_may_be),
        cmocka_unit_test(many_overrides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
