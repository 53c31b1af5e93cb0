// SPDX-License-Identifier: MIT

// A server of Go, limited for each client; with what Go brings.
//
//	weir serve &  go run client.go 127.0.0.1:8080 '1/s burst=5'     then    curl -i http://127.0.0.1:8080/
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// When weir cannot be reached, a request passes: a site without limits beats no site.  false: it gets 503.
const FAIL_OPEN = true

var client = &http.Client{Timeout: 200 * time.Millisecond}

// limited answers those that the limit refuses by itself, as weir says.
func limited(weir, limit string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address, _, _ := net.SplitHostPort(r.RemoteAddr)
		answer, err := client.PostForm(weir+"/v1/take", url.Values{"limit": {limit}, "key": {address}})
		if err != nil {
			log.Print(err)
			if FAIL_OPEN {
				next.ServeHTTP(w, r)
			} else {
				http.Error(w, "refused", http.StatusServiceUnavailable)
			}
			return
		}
		answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusOK: // only this is "allow"
			next.ServeHTTP(w, r)
		case http.StatusTooManyRequests:
			w.Header().Set("Retry-After", answer.Header.Get("Retry-After"))
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		default: // 422, never; or a mistake in the question
			log.Print("weir: ", answer.Status)
			http.Error(w, "refused", http.StatusForbidden)
		}
	})
}

func main() {
	weir := os.Getenv("WEIR")
	if weir == "" {
		weir = "http://127.0.0.1:9348"
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") })
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	log.Fatal(http.Serve(listener, limited(weir, os.Args[2], hello)))
}
