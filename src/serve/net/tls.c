/* SPDX-License-Identifier: MIT
   The same bytes, encrypted: OpenSSL between two memories.

   TLS 1.2 or later; a connection that waits has given its buffers back; a certificate is renewed without a connection
   being lost. */
#include "serve/net/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/thread.h"

struct tls {
    struct host_mutex mutex; /* around context, which tls_renew replaces */
    SSL_CTX *context;
};

struct tls_session {
    SSL *ssl;
    BIO *from_wire, *to_wire; /* owned by ssl */
};

/* ---- certificate and key ---- */

static bool fail(char problem[TLS_PROBLEM_MAX], const char *what, const char *file)
{
    char reason[200] = "";
    const unsigned long code = ERR_peek_last_error();
    if (code != 0) ERR_error_string_n(code, reason, sizeof reason);
    ERR_clear_error();
    FILE *const there = fopen(file, "re");
    if (there == NULL) snprintf(problem, TLS_PROBLEM_MAX, "tls: %s %s: %s", what, file, strerror(errno));
    else snprintf(problem, TLS_PROBLEM_MAX, "tls: %s %s: expected PEM that can be read; %s", what, file, reason);
    if (there != NULL) fclose(there);
    return false;
}

/* A key with a passphrase is refused: nobody is there to type it. */
static int no_passphrase(char *buffer, int size, int writing, void *nothing)
{
    (void)buffer, (void)size, (void)writing, (void)nothing;
    return 0;
}

static bool load(SSL_CTX *context, const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1) {
        return fail(problem, "certificate", certificate);
    }
    const bool read = SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1;
    if (!read && ERR_GET_REASON(ERR_peek_last_error()) != X509_R_KEY_VALUES_MISMATCH) return fail(problem, "key", key);
    if (read && SSL_CTX_check_private_key(context) == 1) return true;
    ERR_clear_error();
    snprintf(problem, TLS_PROBLEM_MAX, "tls: key %s: it is not that of certificate %s", key, certificate);
    return false;
}

static SSL_CTX *make_context(const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    ERR_clear_error();
    if (context == NULL || !load(context, certificate, key, problem)) {
        if (context == NULL) snprintf(problem, TLS_PROBLEM_MAX, "tls: no memory");
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    return context;
}

struct tls *tls_open(const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    struct tls *tls = calloc(1, sizeof *tls);
    SSL_CTX *context = tls != NULL ? make_context(certificate, key, problem) : NULL;
    if (context == NULL) {
        free(tls);
        return NULL;
    }
    tls->context = context;
    host_mutex_open(&tls->mutex);
    return tls;
}

bool tls_renew(struct tls *tls, const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    SSL_CTX *context = make_context(certificate, key, problem);
    if (context == NULL) return false;
    host_lock(&tls->mutex);
    SSL_CTX *old = tls->context;
    tls->context = context;
    host_unlock(&tls->mutex);
    SSL_CTX_free(old);
    return true;
}

void tls_close(struct tls *tls)
{
    if (tls == NULL) return;
    SSL_CTX_free(tls->context);
    host_mutex_close(&tls->mutex);
    free(tls);
}

/* ---- one connection ---- */

static bool open_parts(struct tls *tls, struct tls_session *session)
{
    session->from_wire = BIO_new(BIO_s_mem());
    session->to_wire = BIO_new(BIO_s_mem());
    host_lock(&tls->mutex);
    session->ssl = SSL_new(tls->context);
    host_unlock(&tls->mutex);
    return session->from_wire != NULL && session->to_wire != NULL && session->ssl != NULL;
}

struct tls_session *tls_session_open(struct tls *tls)
{
    struct tls_session *session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    if (!open_parts(tls, session)) {
        BIO_free(session->from_wire);
        BIO_free(session->to_wire);
        SSL_free(session->ssl);
        free(session);
        return NULL;
    }
    BIO_set_mem_eof_return(session->from_wire, -1); /* empty is "not yet", not the end */
    BIO_set_mem_eof_return(session->to_wire, -1);
    SSL_set_bio(session->ssl, session->from_wire, session->to_wire);
    SSL_set_accept_state(session->ssl);
    return session;
}

void tls_session_close(struct tls_session *session)
{
    if (session == NULL) return;
    SSL_free(session->ssl);
    free(session);
}

bool tls_feed(struct tls_session *session, struct slice bytes)
{
    size_t taken;
    return BIO_write_ex(session->from_wire, bytes.bytes, bytes.size, &taken) == 1 && taken == bytes.size;
}

enum tls_result tls_read(struct tls_session *session, char *bytes, size_t capacity, size_t *size)
{
    ERR_clear_error();
    if (SSL_read_ex(session->ssl, bytes, capacity, size) == 1) return TLS_BYTES;
    *size = 0;
    return SSL_get_error(session->ssl, 0) == SSL_ERROR_WANT_READ ? TLS_NONE : TLS_END;
}

bool tls_write(struct tls_session *session, struct slice bytes)
{
    size_t taken;
    ERR_clear_error();
    if (bytes.size == 0) return true;
    return SSL_write_ex(session->ssl, bytes.bytes, bytes.size, &taken) == 1 && taken == bytes.size;
}

void tls_end(struct tls_session *session)
{
    ERR_clear_error();
    if (SSL_is_init_finished(session->ssl)) SSL_shutdown(session->ssl);
    ERR_clear_error();
}

size_t tls_take(struct tls_session *session, char *bytes, size_t capacity)
{
    size_t taken = 0;
    return BIO_read_ex(session->to_wire, bytes, capacity, &taken) == 1 ? taken : 0;
}

bool tls_shaken(const struct tls_session *session)
{
    return SSL_is_init_finished(session->ssl) == 1;
}
