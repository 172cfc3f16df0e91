/** Our programs as processes of their own, from their sources: bundled once a run, since compiling at each start is slow. */
import { execFileSync } from "node:child_process";
import { chmodSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SERVERS = ["vm", "relay"] as const;
const STARTED = [
  "agent",
  "agent/engines/demo",
  "agent/engines/command",
  "agent/engines/acp",
  "agent/engines/own",
  "follow",
] as const;

/**
 * The program as one JavaScript file, in its source's folder, where its assets are found. What the sidecar starts lies
 * where it lies in a build too.
 */
export function programFile(program: (typeof SERVERS)[number] | (typeof STARTED)[number]): string {
  return join(
    ROOT,
    program,
    STARTED.some((started) => started === program) ? "main.cjs" : ".main.bundle.mjs",
  );
}

/** To be called before the tests run. */
export async function bundlePrograms(): Promise<void> {
  execFileSync(process.execPath, [join(ROOT, "scripts/build.mjs"), "--agents"], { stdio: "inherit" });
  await Promise.all(
    SERVERS.map(async (program) => {
      const file = programFile(program);
      const fresh = `${file}.${process.pid}.bundle.mjs`;
      await build({
        entryPoints: [join(ROOT, program, "main.ts")],
        outfile: fresh,
        bundle: true,
        platform: "node",
        format: "esm",
        packages: "external",
      });
      chmodSync(fresh, 0o755);
      renameSync(fresh, file);
    }),
  );
}
