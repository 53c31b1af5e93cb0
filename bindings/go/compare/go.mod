// SPDX-License-Identifier: MIT
// What only the tests and measurements of the binding use: its peers, and what makes a module's zip.
module weir.example/bindings/go/compare

go 1.26.0

require (
	github.com/didip/tollbooth/v7 v7.0.2
	go.uber.org/ratelimit v0.3.1
	golang.org/x/mod v0.30.0
	golang.org/x/time v0.16.0
	weir.example/bindings/go v0.0.0
)

require (
	github.com/benbjohnson/clock v1.3.0 // indirect
	github.com/go-pkgz/expirable-cache/v3 v3.0.0 // indirect
)

replace weir.example/bindings/go => ../
