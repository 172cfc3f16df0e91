// Compiles the TypeScript to dist/ and copies what is not TypeScript beside it. The new dist/ takes the old one's
// place only when it is complete. Types are checked by `npm run check`, not here: that takes twice as long again.
// --console: only the console's page, beside its sources, for programs that run from them.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleConsole } from "./console-bundle.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const assets = ["vm/tmux/wrap.sh", "local-discord/page"];

if (process.argv.includes("--console")) {
  await bundleConsole(join(root, "vm/console/bundle"));
  process.exit(0);
}

const dist = join(root, "dist");
const fresh = join(root, ".dist-new");
const startedAt = new Date();

rmSync(fresh, { recursive: true, force: true });
try {
  execFileSync(
    process.execPath,
    [
      join(root, "node_modules/typescript/bin/tsc"),
      "-p",
      "tsconfig.build.json",
      "--noCheck",
      "--outDir",
      fresh,
    ],
    { cwd: root, stdio: "inherit" },
  );
} catch {
  process.exit(1); // tsc has said why
}
for (const asset of assets) {
  if (!existsSync(join(root, asset)) && asset.endsWith("/page")) continue;
  cpSync(join(root, asset), join(fresh, asset), { recursive: true });
}
await bundleConsole(join(fresh, "vm/console/bundle"));
chmodSync(join(fresh, "cli/main.js"), 0o755); // package.json's bin
chmodSync(join(fresh, "agent/engines/demo/main.js"), 0o755);
// As old as the start: what changed during the build is newer, and built the next time.
writeFileSync(join(fresh, ".built"), "");
utimesSync(join(fresh, ".built"), startedAt, startedAt);
rmSync(dist, { recursive: true, force: true });
renameSync(fresh, dist);
