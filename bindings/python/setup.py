# SPDX-License-Identifier: MIT
"""Builds libweir._weir from weir.c and weir.h, which a source distribution has beside this file; in the project's tree
tools/amalgamation makes them."""

import os
import pathlib
import re
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup

here = pathlib.Path(__file__).resolve().parent
os.chdir(here)

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit(
        "libweir: this is a free-threaded Python, which has no stable ABI that the extension could be built for, and "
        "its objects rely on the GIL. Use the ordinary interpreter of the same version."
    )
if not sys.platform.startswith("linux"):
    sys.exit("libweir: weir runs on Linux only, as yet")

maker = here.parent.parent / "tools" / "amalgamation"
if maker.exists():
    subprocess.run([sys.executable, str(maker), "amalgamation"], check=True)
if not pathlib.Path("amalgamation/weir.c").exists():
    sys.exit("libweir: amalgamation/weir.c is missing: build from the project's tree or a source distribution")

portable = ["-D_GNU_SOURCE", "-include", "ext/old_glibc.h"] if os.environ.get("LIBWEIR_PORTABLE") else []
version = re.search(r'#define WEIR_VERSION "(.*)"', pathlib.Path("amalgamation/weir.h").read_text())
setup(
    version=version[1] if version else None,
    ext_modules=[
        Extension(
            "libweir._weir",
            [*sorted(str(file) for file in pathlib.Path("ext").glob("*.c")), "amalgamation/weir.c"],
            include_dirs=["amalgamation", "ext"],
            depends=["amalgamation/weir.h", "ext/binding.h"],
            extra_compile_args=["-std=c11", "-O2", "-pthread", "-fvisibility=hidden", "-DWEIR_API=", "-g0", *portable],
            extra_link_args=["-pthread"],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
