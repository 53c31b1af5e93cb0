/* SPDX-License-Identifier: MIT
   The shared library, loaded and unloaded while threads that used it live on.

   Nobody calls what is not there any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

#include <weir/weir.h>

#include "unit/skip.h"

struct library {
    void *handle;
    int (*open)(weir_limiter **, const char *, const weir_options *, weir_error *);
    void (*close)(weir_limiter *);
    int (*lease_open)(weir_lease *, weir_limiter *, weir_error *);
    weir_decision (*take)(weir_limiter *, uint64_t);
    void (*lease_close)(weir_lease *);
    weir_limiter *limiter;
    pthread_barrier_t used, unloaded;
};

static void find(const struct library *library, const char *name, void *function)
{
    void *found = dlsym(library->handle, name);
    assert_non_null(found);
    memcpy(function, &found, sizeof found);
}

static void load(struct library *library)
{
    library->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) fail_msg("%s", dlerror());
    find(library, "weir_open", &library->open);
    find(library, "weir_close", &library->close);
    find(library, "weir_lease_open", &library->lease_open);
    find(library, "weir_lease_close", &library->lease_close);
    find(library, "weir_take", &library->take);
}

/* musl keeps what it has loaded. */
static void skip_if_kept(void)
{
    void *const handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    assert_int_equal(dlclose(handle), 0);
    if (dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD) == NULL) return;
    skip_because("unit/unload", "dlclose unloads nothing (musl)", "run it with glibc");
}

static void *use(void *argument)
{
    struct library *library = argument;
    weir_lease lease;
    library->take(library->limiter, 1);
    if (library->lease_open(&lease, library->limiter, NULL) == 0) library->lease_close(&lease);
    pthread_barrier_wait(&library->used);
    pthread_barrier_wait(&library->unloaded);
    return NULL;
}

static void thread_that_ends_later(void **state)
{
    (void)state;
    struct library library;
    pthread_t thread;
    skip_if_kept();
    load(&library);
    assert_int_equal(library.open(&library.limiter, "10/s", NULL, NULL), 0);
    pthread_barrier_init(&library.used, NULL, 2);
    pthread_barrier_init(&library.unloaded, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, use, &library), 0);
    pthread_barrier_wait(&library.used);
    library.close(library.limiter);
    assert_int_equal(dlclose(library.handle), 0);
    assert_null(dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD));
    pthread_barrier_wait(&library.unloaded);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void no_key_left(void **state)
{
    (void)state;
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    struct library library;
    weir_error error;
    int count = 0;
    skip_if_kept();
    load(&library);
    while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], NULL) == 0) count++;
    const int code = library.open(&library.limiter, "10/s", NULL, &error);
    const bool none = library.limiter == NULL;
    while (count-- > 0) pthread_key_delete(keys[count]);
    assert_int_equal(code, WEIR_ESYSTEM);
    assert_non_null(strstr(error.message, "pthread_key_create"));
    assert_true(none);
    dlclose(library.handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(thread_that_ends_later), cmocka_unit_test(no_key_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
