// SPDX-License-Identifier: MIT

//go:build !cgo

package libweir

// What the compiler says where cgo is off: with CGO_ENABLED=0, without a C compiler, or for another platform.
var _ = libweir_is_compiled_by_cgo__set_CGO_ENABLED_to_1_and_install_a_C_compiler
