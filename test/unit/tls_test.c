/* SPDX-License-Identifier: MIT
   TLS over memory: whom a client trusts, what is said of files, and sessions beside OpenSSL's own, whose bytes come one
   by one, in one piece, or not at all.

   All that OpenSSL allocates is counted, so that what is left behind shows, and any of it may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tls/tls.h"

enum { DAY_SECONDS = 86400, RECORD = 16384, PIECE_ALL = INT_MAX };

/* ---- memory ---- */

static size_t live_bytes;
static uint64_t allocations_left; /* up to the one that fails; 0: none does */

static bool fails_now(void)
{
    return allocations_left != 0 && --allocations_left == 0;
}

static void *allocate(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    void *const memory = fails_now() ? NULL : malloc(size);
    if (memory != NULL) live_bytes += malloc_usable_size(memory);
    return memory;
}

static void release(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    live_bytes -= malloc_usable_size(memory);
    free(memory);
}

static void *allocate_again(void *old, size_t size, const char *file, int line)
{
    void *const memory = size != 0 ? allocate(size, file, line) : NULL;
    if (old != NULL && memory != NULL) {
        const size_t had = malloc_usable_size(old);
        memcpy(memory, old, had < size ? had : size);
    }
    if (size == 0 || memory != NULL) release(old, file, line);
    return memory;
}

/* The library's own, which has no room where none is asked for. */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return count == 0 || fails_now() ? NULL : __real_calloc(count, size);
}

/* ---- certificates ---- */

static char folder[] = "/tmp/weir-tls-XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[8][128];
    static unsigned turn;
    char *const path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

struct identity {
    EVP_PKEY *key;
    X509 *certificate;
};

static struct identity authority, other, engine;

static void extend(X509 *certificate, int what, const char *value)
{
    X509_EXTENSION *const extension = X509V3_EXT_conf_nid(NULL, NULL, what, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* by NULL: it is one itself. */
static struct identity make_identity(const char *subject, const char *names, const struct identity *by)
{
    static long serial = 1;
    struct identity made = {EVP_EC_gen("P-256"), X509_new()};
    const struct identity *const issuer = by != NULL ? by : &made;
    X509_set_version(made.certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made.certificate), -DAY_SECONDS);
    X509_gmtime_adj(X509_getm_notAfter(made.certificate), DAY_SECONDS);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)subject, -1, -1, 0);
    X509_set_issuer_name(made.certificate, X509_get_subject_name(issuer->certificate));
    X509_set_pubkey(made.certificate, made.key);
    if (by != NULL) extend(made.certificate, NID_subject_alt_name, names);
    else extend(made.certificate, NID_basic_constraints, "critical,CA:TRUE");
    assert_true(X509_sign(made.certificate, issuer->key, EVP_sha256()) > 0);
    return made;
}

static void free_identity(struct identity *identity)
{
    EVP_PKEY_free(identity->key);
    X509_free(identity->certificate);
}

static void write_key(const char *name, EVP_PKEY *key, const char *passphrase)
{
    FILE *const file = fopen(path_of(name), "we");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, passphrase != NULL ? EVP_aes_128_cbc() : NULL, NULL, 0, NULL,
                                          (void *)(uintptr_t)passphrase),
                     1);
    fclose(file);
}

static void write_certificate(const char *name, X509 *certificate)
{
    FILE *const file = fopen(path_of(name), "we");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    fclose(file);
}

/* As openssl writes keys with a passphrase; a certificate needs none. */
static void write_locked_certificate(const char *name, X509 *certificate)
{
    FILE *const file = fopen(path_of(name), "we");
    assert_non_null(file);
    assert_int_equal(PEM_ASN1_write((i2d_of_void *)i2d_X509, PEM_STRING_X509, file, certificate, EVP_aes_128_cbc(),
                                    (const unsigned char *)"secret", 6, NULL, NULL),
                     1);
    fclose(file);
}

static void write_text(const char *name, const char *text)
{
    FILE *const file = fopen(path_of(name), "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char NAMES[] = "DNS:engine.example,DNS:*.some.example,DNS:w*.part.example,IP:192.0.2.7,IP:2001:db8::7";

static int make_files(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    authority = make_identity("authority", NULL, NULL);
    other = make_identity("other", NULL, NULL);
    engine = make_identity("subject.example", NAMES, &authority);
    EVP_PKEY *const of_another_kind = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    write_certificate("authority.crt", authority.certificate);
    write_certificate("other.crt", other.certificate);
    write_certificate("engine.crt", engine.certificate);
    write_locked_certificate("locked.crt", engine.certificate);
    write_key("engine.key", engine.key, NULL);
    write_key("locked.key", engine.key, "secret");
    write_key("other.key", other.key, NULL);
    write_key("of another kind.key", of_another_kind, NULL);
    write_text("empty", "");
    write_text("text", "10/s burst=20\n");
    EVP_PKEY_free(of_another_kind);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    char command[64];
    free_identity(&authority);
    free_identity(&other);
    free_identity(&engine);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* ---- two sides ---- */

static struct tls_context *server_context, *client_context;
static char problem[TLS_PROBLEM_MAX];

static struct tls_files served(void)
{
    return (struct tls_files){
        .certificate = path_of("engine.crt"), .key = path_of("engine.key"), .certificate_name = "certificate"};
}

static struct tls_files trusting(const char *trusted)
{
    return (struct tls_files){.trusted = path_of(trusted), .trusted_name = "cacert", .certificate_name = "cert"};
}

static int open_contexts(void **state)
{
    (void)state;
    const struct tls_files of_server = served(), of_client = trusting("authority.crt");
    server_context = tls_server(&of_server, problem);
    client_context = tls_client(&of_client, problem);
    return server_context != NULL && client_context != NULL ? 0 : -1;
}

static int close_contexts(void **state)
{
    (void)state;
    tls_context_close(server_context);
    tls_context_close(client_context);
    return 0;
}

/* What is pending goes over in pieces. */
static bool hand_over(struct tls_session *from, struct tls_session *to, size_t piece)
{
    const bool some = tls_pending(from).size != 0;
    for (struct slice bytes; (bytes = tls_pending(from)).size != 0;) {
        const size_t size = bytes.size < piece ? bytes.size : piece;
        assert_true(tls_feed(to, (struct slice){bytes.bytes, size}));
        tls_sent(from, size);
        assert_int_equal(tls_pending(from).size, bytes.size - size);
    }
    return some;
}

/* Until neither has more to say: a read that finds nothing yet says so. */
static void shake(struct tls_session *one, struct tls_session *two, size_t piece)
{
    char byte;
    size_t size = 7;
    for (bool one_spoke = true, two_spoke = true; one_spoke || two_spoke;) {
        (void)tls_read(one, &byte, 1, &size);
        assert_int_equal(size, 0);
        one_spoke = hand_over(one, two, piece);
        (void)tls_read(two, &byte, 1, &size);
        assert_int_equal(size, 0);
        two_spoke = hand_over(two, one, piece);
    }
}

static struct tls_session *open_client(void)
{
    return tls_session_open(client_context, "engine.example");
}

static struct tls_session *open_server(void)
{
    return tls_session_open(server_context, NULL);
}

static void check_read(struct tls_session *session, const char *text)
{
    char bytes[64];
    size_t size;
    assert_int_equal(tls_read(session, bytes, sizeof bytes, &size), TLS_BYTES);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    assert_int_equal(tls_read(session, bytes, sizeof bytes, &size), TLS_NONE);
    assert_int_equal(size, 0);
}

static void talk(struct tls_session *client, struct tls_session *server, size_t piece)
{
    if (tls_write(client, slice_of("PING")) != TLS_BYTES)
        fail_msg("%s / %s", tls_failure(client).reason, tls_failure(server).reason);
    hand_over(client, server, piece);
    check_read(server, "PING");
    assert_int_equal(tls_write(server, slice_of("!")), TLS_BYTES);
    hand_over(server, client, piece);
    check_read(client, "!");
}

static void test_talk(void **state)
{
    (void)state;
    static const size_t pieces[] = {PIECE_ALL, 1, 7, 1000};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct tls_session *const client = open_client();
        struct tls_session *const server = open_server();
        assert_int_equal(tls_pending(client).size, 0);
        assert_int_equal(tls_write(client, slice_of("early")), TLS_NONE);
        assert_false(tls_shaken(client) || tls_shaken(server));
        shake(client, server, pieces[i]);
        assert_true(tls_shaken(client) && tls_shaken(server));
        talk(client, server, pieces[i]);
        assert_int_equal(tls_write(client, slice_of("")), TLS_BYTES);
        assert_int_equal(tls_pending(client).size, 0);
        tls_session_close(client);
        tls_session_close(server);
    }
}

/* More than a record, which the wire takes at once. */
static void test_long_message(void **state)
{
    (void)state;
    static char sent[5 * RECORD], got[sizeof sent];
    struct tls_session *const client = open_client();
    struct tls_session *const server = open_server();
    for (size_t i = 0; i < sizeof sent; i++) sent[i] = (char)(i % 251);
    shake(client, server, PIECE_ALL);
    assert_int_equal(tls_write(server, (struct slice){sent, sizeof sent}), TLS_BYTES);
    const struct slice pending = tls_pending(server);
    assert_true(pending.size > sizeof sent);
    assert_true(tls_feed(client, pending));
    tls_sent(server, pending.size);
    assert_int_equal(tls_pending(server).size, 0);
    size_t all = 0;
    for (size_t size; tls_read(client, got + all, sizeof got - all, &size) == TLS_BYTES; all += size) continue;
    assert_int_equal(all, sizeof sent);
    assert_memory_equal(got, sent, sizeof sent);
    talk(client, server, PIECE_ALL);
    tls_session_close(client);
    tls_session_close(server);
}

/* What is fed is nothing: no end. */
static void test_nothing_is_no_end(void **state)
{
    (void)state;
    struct tls_session *const client = open_client();
    struct tls_session *const server = open_server();
    assert_true(tls_feed(server, (struct slice){NULL, 0}));
    shake(client, server, PIECE_ALL);
    assert_true(tls_shaken(server));
    tls_sent(server, 100); /* more than there is */
    talk(client, server, PIECE_ALL);
    tls_session_close(client);
    tls_session_close(server);
}

static void test_end(void **state)
{
    (void)state;
    char byte;
    size_t size;
    struct tls_session *const client = open_client();
    struct tls_session *const server = open_server();
    tls_end(server); /* it has not begun */
    assert_int_equal(tls_pending(server).size, 0);
    shake(client, server, PIECE_ALL);
    assert_int_equal(tls_write(server, slice_of("last")), TLS_BYTES);
    tls_end(server);
    hand_over(server, client, PIECE_ALL);
    char bytes[8];
    assert_int_equal(tls_read(client, bytes, sizeof bytes, &size), TLS_BYTES);
    assert_int_equal(size, 4);
    assert_int_equal(tls_read(client, &byte, 1, &size), TLS_END);
    assert_null(tls_failure(client).reason);
    assert_false(tls_failure(client).untrusted);
    assert_int_equal(tls_write(server, slice_of("more")), TLS_END);
    tls_session_close(client);
    tls_session_close(server);
    tls_session_close(NULL);
    tls_context_close(NULL);
}

static void test_no_tls(void **state)
{
    (void)state;
    char byte;
    size_t size;
    struct tls_session *const server = open_server();
    assert_true(tls_feed(server, slice_of("GET / HTTP/1.1\r\nHost: weir.example\r\n\r\n")));
    assert_int_equal(tls_read(server, &byte, 1, &size), TLS_END);
    assert_int_equal(ERR_peek_error(), 0); /* nor does a session say anything to others */
    assert_string_equal(tls_failure(server).reason, "http request");
    assert_false(tls_failure(server).untrusted);
    tls_session_close(server);
}

/* What another part of the program has left in OpenSSL's queue of this thread says nothing of a session. */
static void test_errors_of_others(void **state)
{
    (void)state;
    char byte;
    size_t size;
    struct tls_session *const client = open_client();
    struct tls_session *const server = open_server();
    ERR_raise(ERR_LIB_USER, 7);
    assert_int_equal(tls_write(client, slice_of("early")), TLS_NONE);
    ERR_raise(ERR_LIB_USER, 7);
    assert_int_equal(tls_read(client, &byte, 1, &size), TLS_NONE);
    shake(client, server, PIECE_ALL);
    ERR_raise(ERR_LIB_USER, 7);
    assert_int_equal(tls_read(client, &byte, 1, &size), TLS_NONE);
    tls_end(server);
    hand_over(server, client, PIECE_ALL);
    ERR_raise(ERR_LIB_USER, 7);
    assert_int_equal(tls_read(client, &byte, 1, &size), TLS_END);
    assert_null(tls_failure(client).reason);
    tls_session_close(client);
    tls_session_close(server);
}

/* ---- whom a client trusts ---- */

static void check_failed(struct tls_context *context, const char *host, const char *reason)
{
    char byte;
    size_t size;
    struct tls_session *const client = tls_session_open(context, host);
    struct tls_session *const server = open_server();
    assert_non_null(client);
    assert_int_equal(ERR_peek_error(), 0);
    assert_int_equal(tls_write(client, slice_of("x")), TLS_NONE);
    hand_over(client, server, PIECE_ALL);
    assert_int_equal(tls_read(server, &byte, 1, &size), TLS_NONE);
    hand_over(server, client, PIECE_ALL);
    const enum tls_result result = tls_write(client, slice_of("x"));
    assert_int_equal(result, reason == NULL ? TLS_BYTES : TLS_END);
    if (reason != NULL) assert_string_equal(tls_failure(client).reason, reason);
    assert_int_equal(tls_failure(client).untrusted, reason != NULL);
    hand_over(client, server, PIECE_ALL);
    assert_int_equal(tls_read(server, &byte, 1, &size), reason == NULL ? TLS_BYTES : TLS_END);
    if (reason != NULL) assert_non_null(tls_failure(server).reason);
    assert_false(tls_failure(server).untrusted);
    tls_session_close(client);
    tls_session_close(server);
}

static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *host, *reason;
    } rows[] = {
        {"engine.example", NULL},
        {"ENGINE.example", NULL},
        {"192.0.2.7", NULL},
        {"2001:db8::7", NULL},
        {"one.some.example", NULL},
        {"two.one.some.example", "hostname mismatch"},
        {"weir.part.example", "hostname mismatch"}, /* w* */
        {"subject.example", "hostname mismatch"},   /* a name that is not among the names is none */
        {"192.0.2.8", "IP address mismatch"},
        {"2001:db8::8", "IP address mismatch"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_failed(client_context, rows[i].host, rows[i].reason);
}

static void test_authorities(void **state)
{
    (void)state;
    static const char *const unknown = "unable to get local issuer certificate";
    const struct tls_files of_other = trusting("other.crt"), of_system = {.certificate_name = "cert"};
    struct tls_context *context = tls_client(&of_other, problem);
    check_failed(context, "engine.example", unknown);
    tls_context_close(context);
    setenv("SSL_CERT_DIR", "/nowhere", 1);
    setenv("SSL_CERT_FILE", path_of("authority.crt"), 1);
    context = tls_client(&of_system, problem);
    check_failed(context, "engine.example", NULL);
    tls_context_close(context);
    setenv("SSL_CERT_FILE", path_of("nothing"), 1);
    context = tls_client(&of_system, problem);
    assert_string_equal(problem, "");
    check_failed(context, "engine.example", unknown);
    tls_context_close(context);
}

/* ---- what is said of files ---- */

static void check_said(struct tls_context *context, const char *format, const char *one, const char *two)
{
    char expected[TLS_PROBLEM_MAX];
    assert_null(context);
    if (two != NULL) snprintf(expected, sizeof expected, format, path_of(one), path_of(two));
    else snprintf(expected, sizeof expected, format, path_of(one));
    assert_string_equal(problem, expected);
    assert_int_equal(ERR_peek_error(), 0); /* for other parts of the program */
}

static struct tls_context *serve_with(const char *certificate, const char *key)
{
    const struct tls_files files = {
        .certificate = path_of(certificate), .key = path_of(key), .certificate_name = "certificate"};
    ERR_raise(ERR_LIB_USER, 7);
    return tls_server(&files, problem);
}

static struct tls_context *trust_with(const char *trusted)
{
    const struct tls_files files = trusting(trusted);
    ERR_raise(ERR_LIB_USER, 7);
    return tls_client(&files, problem);
}

static void refuse_files(void)
{
    check_said(serve_with("nothing", "engine.key"), "certificate %s: no such file or directory", "nothing", NULL);
    check_said(serve_with("engine.crt", "nothing"), "key %s: no such file or directory", "nothing", NULL);
    check_said(trust_with("nothing"), "cacert %s: no such file or directory", "nothing", NULL);
    check_said(serve_with("text", "engine.key"), "certificate %s: expected PEM that can be read: no start line", "text",
               NULL);
    check_said(serve_with("engine.crt", "text"), "key %s: expected PEM that can be read: unsupported", "text", NULL);
    check_said(trust_with("empty"), "cacert %s: expected PEM that can be read: no certificate or crl found", "empty",
               NULL);
    check_said(serve_with("engine.crt", "locked.key"), "key %s: it has a passphrase; expected one without",
               "locked.key", NULL);
    check_said(serve_with("locked.crt", "engine.key"),
               "certificate %s: expected PEM that can be read: bad password read", "locked.crt", NULL);
    check_said(serve_with("engine.crt", "other.key"), "key %s: it is not that of certificate %s", "other.key",
               "engine.crt");
    check_said(serve_with("engine.crt", "of another kind.key"), "key %s: it is not that of certificate %s",
               "of another kind.key", "engine.crt");
}

static void test_files_that_are_refused(void **state)
{
    (void)state;
    refuse_files();
    const size_t before = live_bytes;
    refuse_files();
    assert_int_equal(live_bytes, before);
}

/* What is opened and closed has left nothing. */
static void test_contexts(void **state)
{
    size_t before = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(open_contexts(state), 0);
        assert_int_equal(close_contexts(state), 0);
        if (i > 0) assert_int_equal(live_bytes, before);
        before = live_bytes;
    }
}

/* ---- beside OpenSSL's own ---- */

/* An other side that may do what ours does not. */
struct plain {
    SSL_CTX *context;
    SSL *ssl;
    BIO *from_wire, *to_wire;
};

static struct plain plain_open(bool client, int version)
{
    struct plain plain = {.context = SSL_CTX_new(client ? TLS_client_method() : TLS_server_method())};
    assert_int_equal(SSL_CTX_use_certificate(plain.context, engine.certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(plain.context, engine.key), 1);
    SSL_CTX_set_min_proto_version(plain.context, version);
    SSL_CTX_set_max_proto_version(plain.context, version);
    plain.ssl = SSL_new(plain.context);
    plain.from_wire = BIO_new(BIO_s_mem());
    plain.to_wire = BIO_new(BIO_s_mem());
    SSL_set_bio(plain.ssl, plain.from_wire, plain.to_wire);
    if (client) SSL_set_connect_state(plain.ssl);
    else SSL_set_accept_state(plain.ssl);
    return plain;
}

static void plain_close(struct plain *plain)
{
    SSL_free(plain->ssl);
    SSL_CTX_free(plain->context);
}

/* What both have to say to each other. */
static void plain_hand_over(struct plain *plain, struct tls_session *session)
{
    char bytes[RECORD];
    size_t size;
    const struct slice pending = tls_pending(session);
    if (pending.size != 0) assert_int_equal(BIO_write_ex(plain->from_wire, pending.bytes, pending.size, &size), 1);
    tls_sent(session, pending.size);
    while (BIO_read_ex(plain->to_wire, bytes, sizeof bytes, &size) == 1)
        assert_true(tls_feed(session, (struct slice){bytes, size}));
}

/* Returns the last word of the other side. */
static int plain_shake(struct plain *plain, struct tls_session *session)
{
    char byte;
    size_t size;
    int done = 0;
    for (int i = 0; i < 6; i++) {
        done = SSL_do_handshake(plain->ssl);
        plain_hand_over(plain, session);
        (void)tls_read(session, &byte, 1, &size);
        plain_hand_over(plain, session);
    }
    return done;
}

/* Old versions are refused, even where the system's configuration allows them. */
static void test_versions(void **state)
{
    (void)state;
    static const int versions[] = {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t i = 0; i < 2 * sizeof versions / sizeof versions[0]; i++) {
        const bool client = i % 2 != 0, fine = versions[i / 2] >= TLS1_2_VERSION;
        struct plain plain = plain_open(client, versions[i / 2]);
        struct tls_session *const session = client ? open_server() : open_client();
        assert_int_equal(plain_shake(&plain, session) == 1, fine);
        assert_int_equal(tls_shaken(session), fine);
        if (fine) assert_int_equal(SSL_version(plain.ssl), versions[i / 2]);
        tls_session_close(session);
        plain_close(&plain);
    }
}

/* A server of many names is told which is meant; an address is none. */
static void test_name_is_told(void **state)
{
    (void)state;
    static const char *const hosts[] = {"engine.example", "192.0.2.7", "2001:db8::7"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct plain plain = plain_open(false, TLS1_3_VERSION);
        struct tls_session *const session = tls_session_open(client_context, hosts[i]);
        assert_int_equal(plain_shake(&plain, session), 1);
        const char *const told = SSL_get_servername(plain.ssl, TLSEXT_NAMETYPE_host_name);
        if (i == 0) assert_string_equal(told, hosts[i]);
        else assert_null(told);
        tls_session_close(session);
        plain_close(&plain);
    }
}

static bool is_refused_anew(struct plain *plain, struct tls_session *session)
{
    char byte;
    size_t size;
    ERR_clear_error();
    assert_int_equal(SSL_renegotiate(plain->ssl), 1);
    for (int i = 0; i < 6; i++) {
        (void)SSL_do_handshake(plain->ssl);
        (void)SSL_read(plain->ssl, &byte, 1);
        if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_NO_RENEGOTIATION) return true;
        plain_hand_over(plain, session);
        (void)tls_read(session, &byte, 1, &size);
        plain_hand_over(plain, session);
    }
    return false;
}

/* A session is what its handshake has made it. */
static void test_no_renegotiation(void **state)
{
    (void)state;
    for (int client = 0; client < 2; client++) {
        struct plain plain = plain_open(client != 0, TLS1_2_VERSION);
        struct tls_session *const session = client ? open_server() : open_client();
        assert_int_equal(plain_shake(&plain, session), 1);
        assert_true(is_refused_anew(&plain, session));
        tls_session_close(session);
        plain_close(&plain);
    }
}

/* ---- memory ---- */

static void test_buffers_are_given_back(void **state)
{
    (void)state;
    struct tls_session *const client = open_client();
    struct tls_session *const server = open_server();
    shake(client, server, PIECE_ALL);
    talk(client, server, PIECE_ALL);
    const size_t both = live_bytes;
    tls_session_close(server);
    print_message("a session of a server that waits: %zu bytes\n", both - live_bytes);
    assert_true(both - live_bytes < 2 * RECORD);
    tls_session_close(client);
}

/* Each allocation fails once.  OpenSSL itself leaves something behind then, while it reads files. */
static bool check_context(bool client, uint64_t nth)
{
    const struct tls_files of_client = trusting("authority.crt"), of_server = served();
    memcpy(problem, "before", sizeof "before");
    allocations_left = nth;
    struct tls_context *const context = client ? tls_client(&of_client, problem) : tls_server(&of_server, problem);
    if (nth == 1) assert_null(context);
    if (nth == 1) assert_string_equal(problem, "");
    const bool failed = allocations_left == 0;
    allocations_left = 0;
    tls_context_close(context);
    return failed;
}

/* There is a whole session, or none and nothing is left of it. */
static bool check_session(struct tls_context *context, const char *host, uint64_t nth)
{
    const size_t before = live_bytes;
    allocations_left = nth;
    struct tls_session *const session = tls_session_open(context, host);
    const bool failed = allocations_left == 0;
    allocations_left = 0;
    if (session != NULL) {
        assert_int_equal(tls_pending(session).size, 0);
        assert_true(tls_feed(session, slice_of("x")));
    }
    tls_session_close(session);
    if (session == NULL) assert_int_equal(ERR_peek_error(), 0);
    ERR_clear_error();
    assert_int_equal(live_bytes, before);
    return failed;
}

static void test_no_memory(void **state)
{
    (void)state;
    static const char *const hosts[] = {NULL, "engine.example", "192.0.2.7"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct tls_context *const context = hosts[i] != NULL ? client_context : server_context;
        check_session(context, hosts[i], 0); /* what is kept for the next one */
        uint64_t nth = 1;
        while (check_session(context, hosts[i], nth)) nth++;
        assert_true(nth > 10);
    }
    for (int client = 0; client < 2; client++) {
        uint64_t nth = 1;
        check_context(client != 0, 0);
        while (check_context(client != 0, nth)) nth += 1 + nth / 16; /* there are thousands */
        assert_true(nth > 100);
    }
}

/* What comes is not cut off silently. */
static void test_no_memory_on_the_wire(void **state)
{
    (void)state;
    static char bytes[RECORD * 4];
    struct tls_session *const client = open_client();
    struct tls_session *const server = open_server();
    shake(client, server, PIECE_ALL);
    allocations_left = 1;
    assert_false(tls_feed(client, (struct slice){bytes, sizeof bytes}));
    ERR_clear_error();
    allocations_left = 1;
    tls_end(client);
    allocations_left = 0;
    assert_int_equal(tls_pending(client).size, 0);
    assert_int_equal(ERR_peek_error(), 0);
    tls_session_close(client);
    tls_session_close(server);
}

int main(void)
{
    static const char *const settings = "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = old\n"
                                        "[old]\nMinProtocol = TLSv1\nCipherString = DEFAULT@SECLEVEL=0\n";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_talk, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_long_message, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_nothing_is_no_end, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_end, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_no_tls, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_errors_of_others, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_hosts, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_authorities, open_contexts, close_contexts),
        cmocka_unit_test(test_files_that_are_refused),
        cmocka_unit_test(test_contexts),
        cmocka_unit_test_setup_teardown(test_versions, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_name_is_told, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_no_renegotiation, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_buffers_are_given_back, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_no_memory, open_contexts, close_contexts),
        cmocka_unit_test_setup_teardown(test_no_memory_on_the_wire, open_contexts, close_contexts),
    };
    if (CRYPTO_set_mem_functions(allocate, allocate_again, release) != 1) return 1;
    char path[] = "/tmp/weir-openssl-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0 || write(fd, settings, strlen(settings)) != (ssize_t)strlen(settings)) return 1;
    close(fd);
    setenv("OPENSSL_CONF", path, 1);
    OPENSSL_init_ssl(0, NULL);
    unlink(path);
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
