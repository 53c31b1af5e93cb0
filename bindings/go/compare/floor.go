// SPDX-License-Identifier: MIT

package main

/*
#cgo noescape nothing
#cgo nocallback nothing
static void nothing(void) {}
*/
import "C"

func callNothing() { C.nothing() }
