// SPDX-License-Identifier: MIT

// A web server of as many processes as you start: each client may make 5 calls at once and then 5 a minute, all
// processes together.
//
//	go run ./examples/server 127.0.0.1:8080 /dev/shm/example.weir &
//	go run ./examples/server 127.0.0.1:8081 /dev/shm/example.weir &
//	for i in 1 2 3 4; do curl -si localhost:8080 | head -3; curl -si localhost:8081 | head -3; done
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	libweir "weir.example/bindings/go"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: server ADDRESS FILE [LIMIT]")
	}
	text := "5/min burst=5"
	if len(os.Args) > 3 {
		text = os.Args[3]
	}
	table, err := libweir.OpenTable(libweir.TableOptions{Path: os.Args[2], Keys: 100_000})
	if err != nil {
		log.Fatal(err)
	}
	plan, err := libweir.Parse(text)
	if err == nil {
		err = table.Fits(plan) // a table refuses what it cannot enforce
	}
	if err != nil {
		log.Fatal(err)
	}
	limit := libweir.Middleware(func(r *http.Request) libweir.Decision {
		return table.Take(plan, libweir.Address(r), 1)
	})

	http.Handle("/", limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello")
	})))
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
