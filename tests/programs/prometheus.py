# SPDX-License-Identifier: BSD-3-Clause
# Servers that scrape, for tests: Prometheus and VictoriaMetrics.
import json
import os
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Prometheus:
    """A server that scrapes one target, a port of this machine, in a new directory."""

    def __init__(self, name, target, *options):
        os.mkdir(name)
        with open(name + "/prometheus.yml", "w") as file:
            file.write(f"""global: {{scrape_interval: 250ms, scrape_timeout: 250ms}}
scrape_configs: [{{job_name: spoor, static_configs: [{{targets: ["127.0.0.1:{target}"]}}]}}]
""")
        self.port = free_port()
        self.log = open(name + "/log", "w")
        self.process = subprocess.Popen([*self.command(name), *options], stdout=self.log, stderr=self.log,
                                        env={**os.environ, "GOMAXPROCS": "2"})

    def command(self, name):
        return ["prometheus", f"--config.file={name}/prometheus.yml", f"--storage.tsdb.path={name}/data",
                f"--web.listen-address=127.0.0.1:{self.port}"]

    def data(self, path, **parameters):
        """What the API answers; None: it does not, or not yet."""
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(parameters, doseq=True)
        try:
            with direct.open(address, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it starts
                return None
            raise AssertionError(f"{parameters}: {error.read().decode()}") from None
        except OSError:
            return None

    def ask_all(self, query):
        """[(labels, number)] of a query."""
        data = self.data("query", query=query)
        return [(one["metric"], float(one["value"][1])) for one in data["result"] if "value" in one] if data else []

    def ask(self, query):
        """The only answer to a query: a number, or None."""
        found = self.ask_all(query)
        return found[0][1] if len(found) == 1 else None

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.log.close()


class VictoriaMetrics(Prometheus):
    def command(self, name):
        return ["victoria-metrics", f"-promscrape.config={name}/prometheus.yml", f"-storageDataPath={name}/data",
                f"-httpListenAddr=127.0.0.1:{self.port}", "-search.latencyOffset=0s", "-search.disableCache",
                "-memory.allowedBytes=64MB"]
