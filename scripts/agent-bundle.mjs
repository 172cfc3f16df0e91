// Bundles the programs that the sidecar starts: the runner and the engines that come with threadmux, which it starts
// whenever an agent has something to do, the one that follows logs, and the browser. Each becomes one compiled script
// with all that it needs, which Node starts in a third of the time of its modules.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { withoutLocales } from "./page-bundle.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const engines = readdirSync(join(root, "agent/engines")).filter((name) =>
  existsSync(join(root, "agent/engines", name, "main.ts")),
);
const programs = ["agent", ...engines.map((name) => `agent/engines/${name}`), "follow", "browser"];
/** Packages that are not bundled, because they need files of their own: the programs load them when they run. */
const external = ["playwright-core", "@resvg/resvg-js"];
const loader = join(root, "scripts/agent-loader.cjs");
const packer = join(root, "scripts/agent-pack.cjs");

/** Read only by threads whose results are held to a schema: a runner has no room for it otherwise. */
const onDemand = { source: "shared/agent/compile-schema.ts", file: "compile-schema.bundle.cjs" };
/** What a program imports when it needs it is a file of its own, which the programs share. */
const leaveOutOnDemand = (program) => ({
  name: "leave-out-on-demand",
  setup(build) {
    const path = relative(program, join("agent", onDemand.file));
    build.onResolve({ filter: /\/compile-schema\.ts$/ }, ({ kind }) =>
      kind === "dynamic-import"
        ? { path: path.startsWith(".") ? path : `./${path}`, external: true }
        : undefined,
    );
  },
});

const options = {
  bundle: true,
  platform: "node",
  format: "cjs", // starts faster than a module
  target: "node20",
  charset: "ascii", // the loader reads it as such
  minify: true,
  legalComments: "none",
  logLevel: "warning",
};

/** Puts them into `<target>/<their folder>/main.cjs`, with `main.cjs.pack` beside it. Safe to run side by side. */
export async function bundleAgents(target) {
  const file = join(target, "agent", onDemand.file);
  const fresh = `${file}.${process.pid}.new`;
  await build({ ...options, entryPoints: [join(root, onDemand.source)], outfile: fresh });
  renameSync(fresh, file);
  await bundleIndexer(target);
  for (const program of programs) await bundleProgram(program, join(target, program, "main.cjs"));
}

/** The sidecar's thread of the index: its native part stays outside. */
async function bundleIndexer(target) {
  const folder = join(target, "vm/memory/indexer");
  const fresh = join(folder, `main.${process.pid}.bundle.cjs`);
  mkdirSync(folder, { recursive: true });
  await build({
    ...options,
    entryPoints: [join(root, "vm/memory/indexer/main.ts")],
    outfile: fresh,
    external: ["better-sqlite3"],
  });
  renameSync(fresh, join(folder, "main.bundle.cjs"));
}

async function bundleProgram(program, file) {
  const fresh = `${file}.${process.pid}.new`;
  mkdirSync(dirname(file), { recursive: true });
  const { outputFiles } = await build({
    ...options,
    entryPoints: [join(root, program, "main.ts")],
    write: false,
    // What a module says of itself, for a script.
    define: { "import.meta.url": "scriptUrl" },
    banner: { js: 'const scriptUrl=require("node:url").pathToFileURL(__filename).href;' },
    external,
    plugins: [withoutLocales, leaveOutOnDemand(program)],
    supported: { "dynamic-import": false }, // the loader runs it as a script, which has `require` alone
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
