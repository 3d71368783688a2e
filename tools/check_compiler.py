"""Checks, before anything is downloaded, that this machine can compile the core, and says what to install if not."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig

INSTALL = "install g++ 11 or newer (on Debian and Ubuntu: apt install g++), or name another compiler with CXX=..."

# What the core asks of the language and its library; <barrier> is the header that came to compilers last.
CXX20 = """
#include <barrier>
template <class T> concept Scored = requires(T t) { t.score; };
struct Part { double score; };
static_assert(Scored<Part>);
constexpr Part part{.score = 1.0};
"""


def main() -> None:
    """Exits with one sentence if there is no compiler, or if it lacks C++20 or the headers of this Python."""
    compiler = find_compiler()
    if not compiles(compiler, CXX20):
        sys.exit(f"The compiler {shlex.join(compiler)} cannot compile C++20: {INSTALL}")
    if not compiles([*compiler, "-I" + sysconfig.get_path("include")], "#include <Python.h>"):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        sys.exit(
            f"The C headers of Python {version} are missing: install them "
            f"(on Debian and Ubuntu: apt install python{version}-dev), or name another Python with make PYTHON=..."
        )


def find_compiler() -> list[str]:
    """The command that CMake will use: the one that the variable CXX names, or the first of the usual names."""
    named = shlex.split(os.environ.get("CXX", ""))
    for name in named[:1] or ["c++", "g++", "clang++"]:
        if shutil.which(name):
            return named or [name]
    if named:
        sys.exit(f"The compiler {named[0]} that CXX names was not found: {INSTALL}")
    sys.exit(f"Margrave is built with a C++20 compiler, and none was found: {INSTALL}")


def compiles(compiler: list[str], source: str) -> bool:
    """Whether the compiler accepts the source as C++20."""
    command = [*compiler, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=source, text=True, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    main()
