"""Downloads the engines once, from package registries, into a folder of the user's.

Run as `python -m tests.engines.install`. It needs Java, Maven and Go: with --strict it
fails without them, otherwise one line says what the tests leave out.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

FOLDER = Path(os.environ.get("ALBERT_ENGINES", "~/.cache/albert-engines")).expanduser()
FLINK, SPARK, PRISM = FOLDER / "flink", FOLDER / "spark", FOLDER / "prism"

# The servers' packages in pom.xml, and what to start of them.
SERVERS = {
    "flink-1.19": "org.apache.beam.runners.flink.FlinkJobServerDriver",
    "spark-3": "org.apache.beam.runners.spark.SparkJobServerDriver",
}
# Whole distributions, each with its jars.
DISTRIBUTIONS = {FLINK: "apache-flink-libraries==1.19.3", SPARK: "pyspark==3.5.7"}
PRISM_PACKAGE = "github.com/apache/beam/sdks/v2/go/cmd/prism@v2.77.0"

# What engines of this age reach into, and Java 17 has closed.
OPENED = [
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net"),
    *("java.nio", "java.text", "java.time", "java.util", "java.util.concurrent"),
    *("java.util.concurrent.atomic", "java.util.concurrent.locks", "sun.nio.ch"),
    *("sun.nio.cs", "sun.security.action", "sun.util.calendar"),
]


def missing_tools() -> list[str]:
    """The programs without which no engine can be had."""
    return [tool for tool in ("java", "mvn", "go") if not shutil.which(tool)]


def install() -> None:
    """Download what is not here yet."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for folder, package in DISTRIBUTIONS.items():
        if not folder.exists():
            unpack(download(package), folder)
    for server in SERVERS:
        if not jar_of(server).exists():
            build(server)
    if not PRISM.exists():
        environment = os.environ | {"GOTOOLCHAIN": "local", "GOBIN": str(FOLDER)}
        subprocess.run(["go", "install", PRISM_PACKAGE], env=environment, check=True)


def download(package: str) -> Path:
    """The source distribution of a package of PyPI's."""
    folder = FOLDER / "sdists"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-binary=:all:", "--dest", str(folder), package], check=True)
    name = package.partition("==")[0].replace("-", "?")
    (found,) = folder.glob(f"{name}-*.tar.gz")
    return found


def unpack(archive: Path, folder: Path) -> None:
    """The programs and jars of a distribution; what is only for Python stays out."""
    new = folder.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            _, *path = Path(member.name).parts
            if path[:2] in (["deps", "lib"], ["deps", "bin"], ["deps", "jars"]):
                member.name = str(Path(*path[1:]))
                tar.extract(member, new, filter="tar")
    new.rename(folder)
    archive.unlink()


def jar_of(server: str) -> Path:
    return FOLDER / f"beam-{server}.jar"


def build(server: str) -> None:
    """Have Maven make a server one jar, as Beam's released ones are.

    Of many jars engines copy each for each job.
    """
    spark = sorted((SPARK / "jars").glob("*.jar")) if server == "spark-3" else []
    properties = {
        "server": server,
        "main": SERVERS[server],
        "folder": FOLDER / "servers",
        "opens": " ".join(f"java.base/{name}" for name in OPENED),
        "beside": " ".join(map(Path.as_uri, spark)),
    }
    goals = ["maven-jar-plugin:3.3.0:jar", "maven-shade-plugin:3.5.1:shade"]
    command = ["mvn", "-q", "-B", "-f", str(Path(__file__).with_name("pom.xml"))]
    command += [f"org.apache.maven.plugins:{goal}" for goal in goals]
    command += [f"-D{name}={value}" for name, value in properties.items()]
    subprocess.run(command, check=True)
    (FOLDER / "servers" / f"{server}.jar").rename(jar_of(server))


if __name__ == "__main__":
    if missing := missing_tools():
        line = f"Flink, Spark and Prism are left out: no {', no '.join(missing)} here."
        if "--strict" in sys.argv:
            sys.exit(line)
        sys.stderr.write(f"{line}\n")
    else:
        install()
