// SPDX-License-Identifier: MIT
//! Compiles weir/weir.c: the file in the package, or one that is made here from the checkout around this folder.
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

fn fail(what: &str) -> ! {
    eprintln!("libweir-sys: {what}");
    exit(1)
}

/// The folder with weir.c and weir.h.
fn sources(manifest: &Path, out: &Path) -> PathBuf {
    let packed = manifest.join("weir");
    if packed.join("weir.c").exists() {
        println!("cargo:rerun-if-changed=weir"); // only where it is: cargo takes a missing file for one that changed
        return packed;
    }
    let tree = manifest.join("../../..");
    let made = out.join("weir");
    for part in ["src", "include", "tools/amalgamation"] {
        println!("cargo:rerun-if-changed={}", tree.join(part).display());
    }
    match Command::new(tree.join("tools/amalgamation")).arg(&made).status() {
        Ok(status) if status.success() => made,
        Ok(status) => fail(&format!("tools/amalgamation, which needs python3, ended with {status}")),
        Err(error) => fail(&format!("no weir/weir.c here, and none made by {}: {error}", tree.display())),
    }
}

fn main() {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).unwrap_or_else(|| fail("run this by cargo"));
    let weir = sources(&folder("CARGO_MANIFEST_DIR"), &folder("OUT_DIR"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:include={}", weir.display());
    println!("cargo:rustc-link-lib=pthread");
    // Also in a debug build: a limiter is on the path of each call, and nobody steps through its C.
    cc::Build::new()
        .file(weir.join("weir.c"))
        .include(&weir)
        .std("c11")
        .opt_level(2)
        .flag_if_supported("-pthread")
        // Nobody else may replace these functions, so that the compiler can inline one in another.
        .flag_if_supported("-fvisibility=hidden")
        .define("WEIR_API", "")
        .compile("weir");
}
