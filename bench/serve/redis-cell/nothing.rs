// SPDX-License-Identifier: MIT
//! Nothing: see Cargo.toml.
