// SPDX-License-Identifier: MIT

// peer tollbooth|rate: the server of ../../examples with the limiters that people use today, as their documentation
// shows them: 100 calls a day from each address. ../../passes counts how many pass.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/didip/tollbooth/v7"
	"golang.org/x/time/rate"
	libweir "weir.example/bindings/go"
)

const perSecond, burst = 100.0 / 86400, 100

func byTollbooth(next http.Handler) http.Handler {
	return tollbooth.LimitHandler(tollbooth.NewLimiter(perSecond, nil).SetBurst(burst), next)
}

func byRate(next http.Handler) http.Handler {
	var limiters sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limiter, _ := limiters.LoadOrStore(libweir.Address(r), rate.NewLimiter(perSecond, burst))
		if !limiter.(*rate.Limiter).Allow() {
			http.Error(w, "429 too many requests", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func main() {
	limit := map[string]func(http.Handler) http.Handler{"tollbooth": byTollbooth, "rate": byRate}[os.Args[1]]
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	log.Fatal(http.Serve(listener, limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello")
	}))))
}
