// SPDX-License-Identifier: MIT

// Package compare measures libweir beside golang.org/x/time/rate and go.uber.org/ratelimit; ../bench runs it.
package compare

/*
#cgo noescape nothing
#cgo nocallback nothing
static void nothing(void) {}
*/
import "C"

func callNothing() { C.nothing() }
