/* SPDX-License-Identifier: MIT
   TLS over memory, by OpenSSL: TLS 1.2 or later, and a session that waits has given its buffers back. */
#include "tls/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/map.h"

struct tls_session {
    SSL *ssl;
    BIO *from_wire, *to_wire; /* owned by ssl */
    const char *reason;       /* why it ended */
};

/* ---- files ---- */

static SSL_CTX *ssl_context(struct tls_context *context)
{
    return (SSL_CTX *)context;
}

/* A key with a passphrase is refused: nobody is there to type it. */
static int no_passphrase(char *buffer, int size, int writing, void *asked)
{
    (void)buffer, (void)size, (void)writing;
    *(bool *)asked = true;
    return -1;
}

/* What OpenSSL says of a file that it was to read. */
static bool bad_file(char problem[TLS_PROBLEM_MAX], const char *what, const char *path)
{
    const unsigned long code = ERR_peek_error();
    const char *const reason = ERR_reason_error_string(code);
    if (ERR_GET_LIB(code) == ERR_LIB_SYS)
        snprintf(problem, TLS_PROBLEM_MAX, "%s %.160s: %s", what, path, host_error_text(ERR_GET_REASON(code)));
    else
        snprintf(problem, TLS_PROBLEM_MAX, "%s %.160s: expected PEM that can be read: %s", what, path,
                 reason != NULL ? reason : "it cannot be used");
    return false;
}

static bool read_certificate(SSL_CTX *context, const struct tls_files *files, char problem[TLS_PROBLEM_MAX])
{
    bool locked = false;
    if (files->certificate == NULL) return true;
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, &locked);
    if (SSL_CTX_use_certificate_chain_file(context, files->certificate) != 1)
        return bad_file(problem, files->certificate_name, files->certificate);
    const bool read = SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL); /* the context outlives it */
    if (locked) {
        snprintf(problem, TLS_PROBLEM_MAX, "key %.160s: it has a passphrase; expected one without", files->key);
        return false;
    }
    if (!read && ERR_GET_REASON(ERR_peek_last_error()) != X509_R_KEY_VALUES_MISMATCH)
        return bad_file(problem, "key", files->key);
    if (read && SSL_CTX_check_private_key(context) == 1) return true;
    snprintf(problem, TLS_PROBLEM_MAX, "key %s: it is not that of %s %s", files->key, files->certificate_name,
             files->certificate);
    return false;
}

static bool read_trusted(SSL_CTX *context, const struct tls_files *files, char problem[TLS_PROBLEM_MAX])
{
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (files->trusted == NULL) return SSL_CTX_set_default_verify_paths(context) == 1; /* else there is no memory */
    if (SSL_CTX_load_verify_locations(context, files->trusted, NULL) == 1) return true;
    return bad_file(problem, files->trusted_name, files->trusted);
}

static struct tls_context *open_context(SSL_CTX *context, bool client, const struct tls_files *files,
                                        char problem[TLS_PROBLEM_MAX])
{
    problem[0] = '\0';
    if (context == NULL) return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    ERR_clear_error();
    const bool trusts = !client || read_trusted(context, files, problem);
    if (trusts && read_certificate(context, files, problem)) return (struct tls_context *)context;
    ERR_clear_error();
    SSL_CTX_free(context);
    return NULL;
}

struct tls_context *tls_server(const struct tls_files *files, char problem[TLS_PROBLEM_MAX])
{
    return open_context(SSL_CTX_new(TLS_server_method()), false, files, problem);
}

struct tls_context *tls_client(const struct tls_files *files, char problem[TLS_PROBLEM_MAX])
{
    return open_context(SSL_CTX_new(TLS_client_method()), true, files, problem);
}

void tls_context_close(struct tls_context *context)
{
    SSL_CTX_free(ssl_context(context));
}

/* ---- sessions ---- */

/* An address is looked for among the certificate's addresses, a name among its names. */
static bool expect(SSL *ssl, const char *host)
{
    if (host == NULL || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1) return true;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct tls_session *tls_session_open(struct tls_context *context, const char *host)
{
    struct tls_session *const session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    session->ssl = SSL_new(ssl_context(context));
    session->from_wire = BIO_new(BIO_s_mem());
    session->to_wire = BIO_new(BIO_s_mem());
    if (session->ssl == NULL || session->from_wire == NULL || session->to_wire == NULL || !expect(session->ssl, host)) {
        BIO_free(session->from_wire);
        BIO_free(session->to_wire);
        tls_session_close(session);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_mem_eof_return(session->from_wire, -1); /* empty is "not yet", not the end */
    SSL_set_bio(session->ssl, session->from_wire, session->to_wire);
    if (host != NULL) SSL_set_connect_state(session->ssl);
    else SSL_set_accept_state(session->ssl);
    return session;
}

void tls_session_close(struct tls_session *session)
{
    if (session == NULL) return;
    SSL_free(session->ssl);
    free(session);
}

/* What OpenSSL says is kept, and not left to others that use it in this thread. */
static enum tls_result result_of(struct tls_session *session, int result)
{
    if (result == 1) return TLS_BYTES;
    if (SSL_get_error(session->ssl, result) == SSL_ERROR_WANT_READ) return TLS_NONE;
    session->reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return TLS_END;
}

bool tls_feed(struct tls_session *session, struct slice bytes)
{
    size_t taken;
    if (bytes.size == 0) return true;
    return BIO_write_ex(session->from_wire, bytes.bytes, bytes.size, &taken) == 1; /* all, or none */
}

enum tls_result tls_read(struct tls_session *session, char *bytes, size_t capacity, size_t *size)
{
    *size = 0;
    ERR_clear_error();
    return result_of(session, SSL_read_ex(session->ssl, bytes, capacity, size));
}

enum tls_result tls_write(struct tls_session *session, struct slice bytes)
{
    size_t taken;
    ERR_clear_error();
    if (bytes.size == 0) return TLS_BYTES;
    return result_of(session, SSL_write_ex(session->ssl, bytes.bytes, bytes.size, &taken));
}

void tls_end(struct tls_session *session)
{
    if (SSL_is_init_finished(session->ssl)) SSL_shutdown(session->ssl);
    ERR_clear_error();
}

struct slice tls_pending(const struct tls_session *session)
{
    char *bytes = NULL;
    const long size = BIO_get_mem_data(session->to_wire, &bytes);
    return (struct slice){bytes, (size_t)size};
}

void tls_sent(struct tls_session *session, size_t size)
{
    char gone[16384];
    for (size_t read; size != 0; size -= read) {
        if (BIO_read_ex(session->to_wire, gone, size < sizeof gone ? size : sizeof gone, &read) != 1) return;
    }
}

bool tls_shaken(const struct tls_session *session)
{
    return SSL_is_init_finished(session->ssl) == 1;
}

struct tls_failure tls_failure(const struct tls_session *session)
{
    const long verified = SSL_get_verify_result(session->ssl);
    if (verified != X509_V_OK) return (struct tls_failure){true, X509_verify_cert_error_string(verified)};
    return (struct tls_failure){false, session->reason};
}
