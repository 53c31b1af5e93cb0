// SPDX-License-Identifier: MIT
module weir.example/bindings/go

go 1.24
