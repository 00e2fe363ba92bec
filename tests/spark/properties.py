"""Properties of Spark for all tests: what they have in common is that each does little, and once."""

from __future__ import annotations

COMPILE_LITTLE = "-XX:TieredStopAtLevel=1"

PROPERTIES = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Else most of the time would go into compiling what runs once.
    "spark.driver.extraJavaOptions": f"{COMPILE_LITTLE} -XX:+UseSerialGC",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
