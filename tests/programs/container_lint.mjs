// SPDX-License-Identifier: BSD-3-Clause
// Checks the recipe for containers: container_lint.mjs DIR MODULES, the directory with Dockerfile and kubernetes.yaml and the one
// with the modules of npm. Prints what is wrong, a line each; and writes the DaemonSet and the ConfigMap as JSON into the current
// directory.
import fs from "node:fs";
import { createRequire } from "node:module";
const [directory, modules] = process.argv.slice(2);
const require = createRequire(modules + "/");
const yaml = require("yaml");
const dockerfile = require("dockerfile-utils");
const schemas = {
    Namespace: "IoK8sApiCoreV1Namespace",
    ConfigMap: "IoK8sApiCoreV1ConfigMap",
    DaemonSet: "IoK8sApiAppsV1DaemonSet",
};

// A schema says nothing of a field that it does not know, and never asks for it: `asked` gets each that it did ask for.
function watched(value, path, asked) {
    if (typeof value !== "object" || value === null) return value;
    return new Proxy(value, {
        get(target, name) {
            if (typeof name !== "string" || !Object.hasOwn(target, name)) return Reflect.get(target, name);
            asked.add(path + "/" + name);
            return watched(target[name], path + "/" + name, asked);
        },
    });
}
function* fields(value, path) {
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
        yield path + "/" + name;
        yield* fields(inner, path + "/" + name);
    }
}

for (const document of yaml.parseAllDocuments(fs.readFileSync(directory + "/kubernetes.yaml", "utf8"))) {
    for (const error of [...document.errors, ...document.warnings]) console.log(error.message);
    const object = document.toJSON();
    const { validate } = require(`${modules}/kubernetes-models/_schemas/${schemas[object.kind]}.js`);
    const asked = new Set();
    if (!validate(watched(object, "", asked)))
        for (const error of validate.errors) console.log(`${object.kind}${error.instancePath}: ${error.keyword} ${JSON.stringify(error.params)}`);
    for (const field of fields(object, "")) if (!asked.has(field)) console.log(`${object.kind}: there is no ${field}`);
    fs.writeFileSync(object.kind + ".json", JSON.stringify(object));
}
for (const problem of dockerfile.validate(fs.readFileSync(directory + "/Dockerfile", "utf8")))
    console.log(`Dockerfile:${problem.range.start.line + 1}: ${problem.message}`);
