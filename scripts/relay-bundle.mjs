// Bundles the relay, and the process of its screenshots, each into one file: Node starts it in a third of the time that
// its modules take, and a relay that starts again has messages waiting.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { withoutLocales } from "./page-bundle.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Puts `main.js`, `worker.js` and `doctor/main.js` into `<target>/relay`; the relay finds the worker beside itself. */
export async function bundleRelay(target) {
  await build({
    entryPoints: {
      main: join(root, "relay/main.ts"),
      worker: join(root, "relay/screenshot/worker.ts"),
      "doctor/main": join(root, "relay/doctor/main.ts"),
    },
    outdir: join(target, "relay"),
    allowOverwrite: true,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    // A native part, and what discord.js uses only if it is installed.
    external: ["@resvg/resvg-js", "zlib-sync", "bufferutil", "utf-8-validate"],
    // What is CommonJS inside asks for `require`.
    banner: {
      js: 'import{createRequire as makeRequire}from"node:module";const require=makeRequire(import.meta.url);',
    },
    legalComments: "none",
    plugins: [withoutLocales],
    logLevel: "warning",
  });
  // Of the modules that they were.
  for (const file of ["main", "doctor/main"]) rmSync(join(target, `relay/${file}.js.map`), { force: true });
}
