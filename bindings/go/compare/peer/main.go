// SPDX-License-Identifier: MIT

// The server of ../../examples with tollbooth, a middleware around x/time/rate, as its documentation shows it: 100
// calls a day from each address. ../../passes counts how many pass.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/didip/tollbooth/v7"
)

func main() {
	limit := tollbooth.NewLimiter(100.0/86400, nil).SetBurst(100)
	handler := tollbooth.LimitFuncHandler(limit, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello")
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	log.Fatal(http.Serve(listener, handler))
}
