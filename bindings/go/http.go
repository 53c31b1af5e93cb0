// SPDX-License-Identifier: MIT

package libweir

// #include "libweir.h"
import "C"

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Middleware answers requests that are refused by 429, with Retry-After; others go on to the next handler:
//
//	http.Handle("/", libweir.Middleware(func(r *http.Request) libweir.Decision {
//		return table.Take(plan, libweir.Address(r), 1)
//	})(handler))
func Middleware(take func(*http.Request) Decision) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if d := take(r); d.Allowed() {
				next.ServeHTTP(w, r)
			} else {
				TooManyRequests(w, d)
			}
		})
	}
}

// HoldMiddleware is Middleware of a concurrent limit, of which a request holds slots until the next handler returns:
//
//	libweir.HoldMiddleware(func(r *http.Request) (*libweir.Hold, error) {
//		return table.TryHold(plan, libweir.Address(r), 1)
//	})(handler)
//
// An error other than [*Refused] is answered by 500.
func HoldMiddleware(hold func(*http.Request) (*Hold, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			held, err := hold(r)
			if refused := new(Refused); errors.As(err, &refused) {
				TooManyRequests(w, refused.Decision)
				return
			} else if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			defer held.Release()
			next.ServeHTTP(w, r)
		})
	}
}

// TooManyRequests answers by 429; with Retry-After, unless the same request can never pass.
func TooManyRequests(w http.ResponseWriter, d Decision) {
	if d.Verdict() == Deny {
		w.Header().Set("Retry-After", strconv.FormatInt(d.RetryAfter(), 10))
	}
	http.Error(w, "429 too many requests", http.StatusTooManyRequests)
}

// SetHeaders sets headers of an answer: RateLimit-Policy and RateLimit of the limit that the decision names and, if it
// refused, Retry-After. full is of [Table.Full].
func (p *Plan) SetHeaders(header http.Header, d Decision, full time.Duration) {
	lines := textOf(func(out *C.char, size C.size_t) C.size_t {
		return C.weir_plan_headers(p.raw(), d.raw(), C.uint64_t(full), out, size)
	})
	for line := range strings.SplitSeq(lines, "\r\n") {
		if name, value, found := strings.Cut(line, ": "); found {
			header.Set(name, value)
		}
	}
}

// Address returns the client's address without its port: a key. Behind a proxy it is the proxy's.
func Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
