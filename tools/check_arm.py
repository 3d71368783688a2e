"""Compiles the hot loops for 64-bit ARM, whose NEON they use by vector extensions, and runs them in an emulator."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMPILER = os.environ.get("ARM_CXX", "aarch64-linux-gnu-g++")
EMULATOR = "qemu-aarch64"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-Wno-psabi"]


def main() -> None:
    """Exits with one sentence if there is no compiler for ARM, or if the loops compute something else there."""
    if not shutil.which(COMPILER):
        sys.exit(
            f"There is no {COMPILER}: install a compiler for 64-bit ARM (on Debian and Ubuntu: "
            "apt install g++-aarch64-linux-gnu), or name another one with ARM_CXX=..."
        )
    core = ROOT / "src" / "margrave" / "_core"
    program = ROOT / "build" / "check_arm"
    program.parent.mkdir(exist_ok=True)
    sources = [str(ROOT / "tools" / "check_arm.cpp"), str(core / "simd" / "loops_baseline.cpp")]
    options = ["-std=c++20", "-O3", "-static", *WARNINGS, f"-I{core}", "-o", str(program)]
    subprocess.run([COMPILER, *options, *sources], check=True)
    if not shutil.which(EMULATOR):
        print(f"The loops compile for ARM; there is no {EMULATOR} to run them (on Debian and Ubuntu: qemu-user).")
        return
    sys.exit(subprocess.run([EMULATOR, str(program)], check=False).returncode)


if __name__ == "__main__":
    main()
