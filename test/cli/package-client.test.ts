/** `threadmux/client` as another package sees it: by this package's exports, compiled, with its types. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

let sidecar: TestSidecar;
afterEach(() => sidecar?.close());

const TYPED = `
import { AppError, type HubEvent, SidecarClient, type Thread } from "threadmux/client";
const client = new SidecarClient({ url: "", token: "" });
export const status: Promise<Thread["status"]> = client.getThread("a").then((thread) => thread.status);
export const first: Promise<unknown> = client.followEvents({ since: 0 }).next();
export const isEnd = (event: HubEvent): boolean => event.type === "turn_end";
export const codeOf = (error: unknown) => (error instanceof AppError ? error.code : undefined);
// @ts-expect-error a thread has no such status
export const wrong: Thread["status"] = "asleep";
`;

test("the example in docs/http.md runs, and the types are there", async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  const folder = join(sidecar.folders.path, "other");
  const modules = join(folder, "node_modules");
  const own = join(modules, "threadmux");
  mkdirSync(own, { recursive: true });
  copyFileSync(join(ROOT, "package.json"), join(own, "package.json"));
  await run(
    process.execPath,
    [TSC, "-p", "tsconfig.client.json", "--noCheck", "--outDir", join(own, "dist")],
    {
      cwd: ROOT,
    },
  );
  for (const name of ["zod", "@types"]) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));

  const guide = readFileSync(join(ROOT, "docs", "http.md"), "utf8");
  const [, example = ""] = /^```js\n(.*?)^```/ms.exec(guide) ?? [];
  const words = JSON.stringify(script("Say hello.", { text: "Hello!" }));
  const fitted = example.replace("http://127.0.0.1:3001", sidecar.url).replace('"Say hello."', words);
  writeFileSync(join(folder, "example.mjs"), fitted);
  const env = { ...process.env, VM_TOKEN: sidecar.token };
  expect((await run(process.execPath, ["example.mjs"], { cwd: folder, env })).stdout).toBe("Hello!\n");
  expect(await sidecar.client.listThreads()).toEqual([]);

  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "typed.ts"), TYPED);
  const strict = [
    "--strict",
    "--noEmit",
    "--module",
    "nodenext",
    "--target",
    "es2023",
    "--types",
    "node",
    "--skipLibCheck",
  ];
  await run(process.execPath, [TSC, ...strict, "typed.ts"], { cwd: folder }).catch(
    (error: { stdout: string }) => {
      throw new Error(error.stdout);
    },
  );
});
