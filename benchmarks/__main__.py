"""The command of `make bench`. It prints ratios to a floor of the same run, which a slow machine does not change."""

import os
import tempfile
from pathlib import Path

from benchmarks.provider import fake_provider


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="agentsite-bench-") as folder:
        os.environ |= {"AGENTSITE_VAR": folder, "DJANGO_SETTINGS_MODULE": "agentsite.settings"}
        os.environ.pop("DATABASE_URL", None)
        import django

        django.setup()
        from benchmarks import crowd, iteration, llm_layer, overhead, pages
        from llm_app.transport import wire

        iteration.report()
        with fake_provider() as provider:
            overhead.report(provider, Path(folder))
        llm_layer.report()
        wire.close()
    pages.report()
    crowd.report()
    crowd.report_starts()


if __name__ == "__main__":
    main()
