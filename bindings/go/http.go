// SPDX-License-Identifier: MIT

package libweir

import (
	"net"
	"net/http"
	"strconv"
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

// TooManyRequests answers by 429; with Retry-After, unless the same request can never pass.
func TooManyRequests(w http.ResponseWriter, d Decision) {
	if d.Verdict() == Deny {
		w.Header().Set("Retry-After", strconv.FormatInt(d.RetryAfter(), 10))
	}
	http.Error(w, "429 too many requests", http.StatusTooManyRequests)
}

// Address returns the client's address without its port: a key. Behind a proxy it is the proxy's.
func Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
