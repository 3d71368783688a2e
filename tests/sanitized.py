"""Whether these tests run under a sanitizer, which is slower and has memory of its own."""

import os

SANITIZED = any(name in os.environ.get("LD_PRELOAD", "") for name in ("libasan", "libtsan"))
OWN_MEMORY = "a sanitizer reserves memory of its own"
