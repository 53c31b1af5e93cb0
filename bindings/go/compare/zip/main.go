// SPDX-License-Identifier: MIT

// zip MODULE FOLDER ZIP TO: makes the zip of a module as a proxy serves it, and unpacks it in TO as `go get` does.
package main

import (
	"log"
	"os"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: zip MODULE FOLDER ZIP TO")
	}
	version := module.Version{Path: os.Args[1], Version: "v1.0.0"}
	file, err := os.Create(os.Args[3])
	if err == nil {
		err = zip.CreateFromDir(file, version, os.Args[2])
	}
	if err == nil {
		err = file.Close()
	}
	if err == nil {
		err = zip.Unzip(os.Args[4], version, os.Args[3])
	}
	if err != nil {
		log.Fatal(err)
	}
}
