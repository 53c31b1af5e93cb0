// SPDX-License-Identifier: MIT

// At most so many at once, whatever they are written in: hold PATH LIMIT KEY
//
//	go run . /dev/shm/backups.weir "3 concurrent lease=30s" nightly
//
// waits for a slot of the key, says "held", and holds it until its input ends. Killed, it frees the slot at once.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	libweir "weir.example/bindings/go"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: hold PATH LIMIT KEY")
	}
	plan, err := libweir.Parse(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	table, err := libweir.OpenTable(libweir.TableOptions{Path: os.Args[1], Keys: 1000, Plan: plan})
	if err != nil {
		log.Fatal(err)
	}
	hold, err := table.Hold(context.Background(), plan, os.Args[3], 1)
	if err != nil {
		log.Fatal(err)
	}
	go hold.Keep(context.Background())
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin) // what takes its time
	if hold.Release() {
		fmt.Println("released")
	} else {
		fmt.Println("lost")
	}
}
