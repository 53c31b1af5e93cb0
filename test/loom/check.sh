#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test/loom/check.sh FOLDER: loom on the three hardest idioms of src/share, in Rust (src/lib.rs).  Builds in FOLDER.
set -euo pipefail
cd "$(dirname "$0")"
command -v cargo >/dev/null || { echo "skipped: model/loom: cargo is not here; cure: https://rustup.rs"; exit 77; }
cargo fetch --quiet --locked || { echo "skipped: model/loom: crates.io cannot be reached"; exit 77; }
CARGO_TARGET_DIR=$1 cargo test --quiet --locked
