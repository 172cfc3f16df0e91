// Compiles the TypeScript to dist/ and copies what is not TypeScript beside it. The new dist/ takes the old one's
// place only when it is complete. Types are checked by `npm run check`, not here: that takes twice as long again.
// --pages: only the pages for browsers, --agents: only the programs that agent threads start, beside their sources, for
// programs that run from them.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleAgents } from "./agent-bundle.mjs";
import { bundlePages } from "./page-bundle.mjs";
import { bundleRelay } from "./relay-bundle.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const assets = ["vm/tmux/wrap.sh", "agent/engines/own/providers"];

if (process.argv.includes("--pages")) {
  await bundlePages(root);
  process.exit(0);
}
if (process.argv.includes("--agents")) {
  await bundleAgents(root);
  process.exit(0);
}

const dist = join(root, "dist");
const fresh = join(root, ".dist-new");
const startedAt = new Date();

rmSync(fresh, { recursive: true, force: true });
compile("tsconfig.build.json");
compile("tsconfig.client.json", "--emitDeclarationOnly"); // the types of the package's entry
for (const asset of assets) cpSync(join(root, asset), join(fresh, asset), { recursive: true });
await bundlePages(fresh);
await bundleAgents(fresh);
await bundleRelay(fresh);
chmodSync(join(fresh, "cli/main.js"), 0o755); // package.json's bin
// As old as the start: what changed during the build is newer, and built the next time.
writeFileSync(join(fresh, ".built"), "");
utimesSync(join(fresh, ".built"), startedAt, startedAt);
rmSync(dist, { recursive: true, force: true });
renameSync(fresh, dist);

function compile(project, ...options) {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const args = [tsc, "-p", project, "--noCheck", "--outDir", fresh, ...options];
  try {
    execFileSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  } catch {
    process.exit(1); // tsc has said why
  }
}
