// Compiles the TypeScript to dist/ and copies what is not TypeScript beside it.
import { execFileSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const assets = ["vm/tmux/wrap.sh"];

rmSync(`${root}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", `${root}tsconfig.build.json`], {
  cwd: root,
  stdio: "inherit",
});
for (const asset of assets) cpSync(`${root}${asset}`, `${root}dist/${asset}`, { recursive: true });
