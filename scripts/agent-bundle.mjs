// Bundles the programs that the sidecar starts whenever an agent has something to do, the runner and two engines, each
// into one script with all that it needs, compiled: so Node starts it in a third of the time of its modules.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { withoutLocales } from "./page-bundle.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const programs = ["agent", "agent/engines/demo", "agent/engines/command"];
const loader = join(root, "scripts/agent-loader.cjs");
const packer = join(root, "scripts/agent-pack.cjs");

/** Puts them into `<target>/<their folder>/main.cjs`, with `main.cjs.pack` beside it. Safe to run side by side. */
export async function bundleAgents(target) {
  for (const program of programs) {
    const file = join(target, program, "main.cjs");
    const fresh = `${file}.${process.pid}.new`;
    mkdirSync(dirname(file), { recursive: true });
    const { outputFiles } = await build({
      entryPoints: [join(root, program, "main.ts")],
      write: false,
      bundle: true,
      platform: "node",
      format: "cjs", // starts faster than a module
      target: "node20",
      charset: "ascii", // the loader reads it as such
      minify: true,
      // What a module says of itself, for a script.
      define: { "import.meta.url": "scriptUrl" },
      banner: { js: 'const scriptUrl=require("node:url").pathToFileURL(__filename).href;' },
      legalComments: "none",
      plugins: [withoutLocales],
      logLevel: "warning",
    });
    const script = outputFiles[0].text.replace(/^#!.*\n/, "");
    writeFileSync(`${fresh}.js`, `(function(require,__filename){${script}\n})`);
    // In a process of its own without options: V8 takes what it has compiled only under the same ones.
    const env = { PATH: process.env.PATH };
    execFileSync(process.execPath, [packer, `${fresh}.js`, `${fresh}.pack`], { env, stdio: "inherit" });
    rmSync(`${fresh}.js`);
    renameSync(`${fresh}.pack`, `${file}.pack`);
    copyFileSync(loader, fresh);
    chmodSync(fresh, 0o755);
    renameSync(fresh, file);
  }
}
