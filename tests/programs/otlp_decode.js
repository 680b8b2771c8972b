// SPDX-License-Identifier: BSD-3-Clause
// Decodes requests of OTLP with OpenTelemetry's own definitions: node otlp_decode.js ROOT.js FILE…. Prints a line of JSON for
// each, which is what the beginning of its name says, with ids in hexadecimal and numbers of 64 bits as text, as OTLP's JSON has them.
"use strict";
const fs = require("fs");
const root = require(process.argv[2]);
const collector = root.opentelemetry.proto.collector;
const requests = {
    metrics: collector.metrics.v1.ExportMetricsServiceRequest,
    logs: collector.logs.v1.ExportLogsServiceRequest,
};
const ids = new Set(["traceId", "spanId", "parentSpanId"]);
for (const path of process.argv.slice(3)) {
    const request = requests[path.split(".")[0]] || collector.trace.v1.ExportTraceServiceRequest;
    const message = request.decode(fs.readFileSync(path));
    const plain = request.toObject(message, { longs: String, bytes: String });
    const text = JSON.stringify(plain, (key, value) => (ids.has(key) ? Buffer.from(value, "base64").toString("hex") : value));
    console.log(text);
}
