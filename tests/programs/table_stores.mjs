// SPDX-License-Identifier: BSD-3-Clause
// Runs statements in DuckDB: table_stores.mjs NODE_MODULES, a JSON list of them on standard input; their rows as JSON.
import { createRequire } from "module";
import { readFileSync } from "fs";

const { DuckDBInstance } = createRequire(process.argv[2] + "/")("@duckdb/node-api");
const connection = await (await DuckDBInstance.create(":memory:")).connect();
const results = [];
for (const statement of JSON.parse(readFileSync(0, "utf8")))
    results.push((await connection.runAndReadAll(statement)).getRowsJson());
console.log(JSON.stringify(results));
process.exit(0);
