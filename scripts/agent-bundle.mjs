// Bundles the programs that the sidecar starts whenever an agent has something to do, the runner and two engines, each
// into one script with all that it needs: Node starts such a script in half the time of its modules.
import { chmodSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { withoutLocales } from "./page-bundle.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const programs = ["agent", "agent/engines/demo", "agent/engines/command"];

/** Puts them into `<target>/<their folder>/main.cjs`. Safe to run side by side. */
export async function bundleAgents(target) {
  for (const program of programs) {
    const file = join(target, program, "main.cjs");
    const fresh = `${file}.${process.pid}.new`;
    mkdirSync(dirname(file), { recursive: true });
    await build({
      entryPoints: [join(root, program, "main.ts")],
      outfile: fresh,
      bundle: true,
      platform: "node",
      format: "cjs", // starts faster than a module
      target: "node20",
      minify: true,
      // What a module says of itself, for a script.
      define: { "import.meta.url": "scriptUrl" },
      banner: { js: 'const scriptUrl=require("node:url").pathToFileURL(__filename).href;' },
      legalComments: "none",
      plugins: [withoutLocales],
      logLevel: "warning",
    });
    chmodSync(fresh, 0o755);
    renameSync(fresh, file);
  }
}
