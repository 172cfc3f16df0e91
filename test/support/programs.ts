/** Our programs as processes of their own, from their sources: bundled once a run, since compiling at each start is slow. */
import { chmodSync, renameSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const PROGRAMS = ["vm", "relay", "agent", "agent/engines/demo", "agent/engines/command"] as const;

/**
 * The program as one JavaScript file, in its source's folder, where its assets are found. What the sidecar starts lies
 * where it lies in a build too.
 */
export function programFile(program: (typeof PROGRAMS)[number]): string {
  const name = program.startsWith("agent") ? "main.js" : ".main.bundle.mjs";
  return fileURLToPath(new URL(`../../${program}/${name}`, import.meta.url));
}

/** To be called before the tests run. */
export async function bundlePrograms(): Promise<void> {
  await Promise.all(
    PROGRAMS.map(async (program) => {
      const file = programFile(program);
      const fresh = `${file}.${process.pid}.bundle.mjs`;
      await build({
        entryPoints: [fileURLToPath(new URL(`../../${program}/main.ts`, import.meta.url))],
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
