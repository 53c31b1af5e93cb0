/* SPDX-License-Identifier: MIT
   TLS by OpenSSL between two memories, so that it works with any hiredis and writes without signals.

       link --bytes--> SSL --> to_wire --send--> socket
       link <--bytes-- SSL <-- from_wire <--recv-- socket

   TLS 1.2 or later; the server's certificate is checked, and that it is of the host that was asked for; never waits. */
#include "redis/client/link/secure.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/error.h"
#include "host/map.h"

enum { CHUNK = 16384 /* the most that one record of TLS holds */ };

struct secure {
    SSL *ssl;
    BIO *from_wire, *to_wire; /* owned by ssl */
    bool ended;               /* the other side has closed its socket */
};

/* Nobody is there to type one. */
static int no_passphrase(char *out, int size, int writes, void *context)
{
    (void)out, (void)size, (void)writes, (void)context;
    return -1;
}

/* What OpenSSL says of a file that it was to read. */
static int bad_file(weir_error *error, const char *what, const char *path)
{
    char words[sizeof error->message];
    const unsigned long code = ERR_peek_error();
    const bool system = ERR_GET_LIB(code) == ERR_LIB_SYS;
    const char *const reason = system ? host_error_text(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
    snprintf(words, sizeof words, "%s %.100s: %s", what, path, reason != NULL ? reason : "cannot be used");
    ERR_clear_error();
    return api_fail(error, WEIR_ESYSTEM, words);
}

/* Whom to trust, and who this is. */
static int read_files(SSL_CTX *context, const struct engine_url *url, weir_error *error)
{
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (url->cacert[0] == '\0' && SSL_CTX_set_default_verify_paths(context) != 1) {
        ERR_clear_error();
        return api_fail(error, WEIR_ESYSTEM, "the system's certificates cannot be read: see SSL_CERT_FILE");
    }
    if (url->cacert[0] != '\0' && SSL_CTX_load_verify_locations(context, url->cacert, NULL) != 1)
        return bad_file(error, "cacert", url->cacert);
    if (url->cert[0] == '\0') return 0;
    if (SSL_CTX_use_certificate_chain_file(context, url->cert) != 1) return bad_file(error, "cert", url->cert);
    /* One that is not the certificate's is refused here, too. */
    if (SSL_CTX_use_PrivateKey_file(context, url->key, SSL_FILETYPE_PEM) != 1) return bad_file(error, "key", url->key);
    return 0;
}

int secure_open(void **owned, const struct engine_url *url, weir_error *error)
{
    SSL_CTX *const context = SSL_CTX_new(TLS_client_method());
    *owned = context;
    if (context == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for TLS");
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    const int failed = read_files(context, url, error);
    if (failed == 0) return 0;
    SSL_CTX_free(context);
    *owned = NULL;
    return failed;
}

void secure_close(void *tls)
{
    SSL_CTX_free(tls);
}

/* An address is looked for among the certificate's addresses, a name among its names. */
static bool expect(SSL *ssl, const char *host)
{
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1) return true;
    ERR_clear_error();
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct secure *secure_begin(void *tls, const char *host)
{
    struct secure *const secure = calloc(1, sizeof *secure);
    if (secure == NULL) return NULL;
    secure->ssl = SSL_new(tls);
    secure->from_wire = BIO_new(BIO_s_mem());
    secure->to_wire = BIO_new(BIO_s_mem());
    if (secure->ssl == NULL || secure->from_wire == NULL || secure->to_wire == NULL || !expect(secure->ssl, host)) {
        BIO_free(secure->from_wire);
        BIO_free(secure->to_wire);
        SSL_free(secure->ssl);
        free(secure);
        return NULL;
    }
    BIO_set_mem_eof_return(secure->from_wire, -1); /* empty is "not yet", not the end */
    SSL_set_bio(secure->ssl, secure->from_wire, secure->to_wire);
    SSL_set_connect_state(secure->ssl);
    return secure;
}

void secure_end(struct secure *secure)
{
    if (secure == NULL) return;
    SSL_free(secure->ssl);
    free(secure);
}

/* ---- what is wrong ---- */

static ssize_t broken_by_system(char why[SECURE_WHY_MAX])
{
    snprintf(why, SECURE_WHY_MAX, "%s", host_error_text(errno));
    return -1;
}

static ssize_t broken_by_tls(const struct secure *secure, char why[SECURE_WHY_MAX])
{
    const long verified = SSL_get_verify_result(secure->ssl);
    const unsigned long code = ERR_peek_last_error();
    const char *const reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    if (verified != X509_V_OK) {
        snprintf(why, SECURE_WHY_MAX, "its certificate is not trusted: %s", X509_verify_cert_error_string(verified));
    } else if (reason != NULL && (strstr(reason, "certificate") != NULL || strstr(reason, "unknown ca") != NULL)) {
        snprintf(why, SECURE_WHY_MAX, "it does not take our certificate (?cert=FILE&key=FILE in the URL): %s", reason);
    } else {
        snprintf(why, SECURE_WHY_MAX, "TLS failed: %s", reason != NULL ? reason : "the server closed the connection");
    }
    ERR_clear_error();
    return -1;
}

/* ---- bytes ---- */

/* What TLS has to say, as far as the socket takes it.  false: see errno. */
static bool push(struct secure *secure, int socket)
{
    char *bytes = NULL;
    for (long size; (size = BIO_get_mem_data(secure->to_wire, &bytes)) > 0;) {
        const ssize_t sent = send(socket, bytes, (size_t)size, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        char gone[CHUNK];
        for (ssize_t left = sent; left > 0;) left -= BIO_read(secure->to_wire, gone, left < CHUNK ? (int)left : CHUNK);
    }
    return true;
}

/* What has come.  false: see errno. */
static bool pull(struct secure *secure, int socket)
{
    char bytes[CHUNK];
    const ssize_t got = recv(socket, bytes, sizeof bytes, 0);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    secure->ended = got == 0;
    if (got > 0 && BIO_write(secure->from_wire, bytes, (int)got) != got) {
        errno = ENOMEM;
        return false;
    }
    return true;
}

static bool waits(const struct secure *secure, int result)
{
    const int what = SSL_get_error(secure->ssl, result);
    return what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE;
}

/* Who is cut off while he writes finds the reason in what has come. */
static ssize_t broken(struct secure *secure, int socket, char why[SECURE_WHY_MAX])
{
    const int number = errno;
    size_t got = 0;
    char byte;
    ERR_clear_error();
    if (pull(secure, socket) && SSL_read_ex(secure->ssl, &byte, 1, &got) != 1 && ERR_peek_error() != 0)
        return broken_by_tls(secure, why);
    errno = number;
    return broken_by_system(why);
}

ssize_t secure_write(struct secure *secure, int socket, const char *bytes, size_t size, char why[SECURE_WHY_MAX])
{
    size_t taken = 0;
    if (!push(secure, socket)) return broken(secure, socket, why);
    if (secure_writes(secure) || size == 0) return 0; /* the socket is full; no second copy of all that is to be sent */
    ERR_clear_error();
    const int result = SSL_write_ex(secure->ssl, bytes, size, &taken);
    if (result != 1 && !waits(secure, result)) return broken_by_tls(secure, why);
    return push(secure, socket) ? (ssize_t)taken : broken(secure, socket, why);
}

ssize_t secure_read(struct secure *secure, int socket, char *bytes, size_t room, char why[SECURE_WHY_MAX])
{
    size_t got = 0;
    if (!pull(secure, socket)) return broken_by_system(why);
    ERR_clear_error();
    const int result = SSL_read_ex(secure->ssl, bytes, room, &got);
    const bool more = result == 1 || waits(secure, result);
    const bool pushed = push(secure, socket); /* an alert says to the server what is wrong */
    if (!more || (secure->ended && got == 0)) return broken_by_tls(secure, why);
    return pushed ? (ssize_t)got : broken(secure, socket, why);
}

bool secure_writes(const struct secure *secure)
{
    return BIO_ctrl_pending(secure->to_wire) > 0;
}

bool secure_is_open(const struct secure *secure)
{
    return SSL_is_init_finished(secure->ssl) == 1;
}
