/**
 * File tools run in the engine's process, and that is in the thread's sandbox as a whole. So the kernel refuses them what
 * it refuses to commands, also if their own checks had a hole: here they have none at all.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formsFor } from "../../../../shared/sandbox/modes.ts";
import { makeFolder } from "../../../../test/support/folders.ts";
import { inSandbox } from "../../../process/sandbox.ts";
import { ownEngine } from "../own.ts";

const SECRET = "walnut-9c1e";
const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Runs the calls in its arguments, without any check of its own. */
const PROGRAM = `
  import { makeTools } from "./tool-set.ts";
  const { tools, close } = makeTools();
  const context = {
    dir: "/", reads: [], closed: [], callId: "c", signal: new AbortController().signal, env: process.env,
    inSandbox: (program, args) => ({ program, args }), beforeWrite: async () => {},
  };
  void (async () => {
  const said = [];
  for (const [name, input] of JSON.parse(process.argv[2])) {
    const call = tools.find((tool) => tool.name === name).call(input);
    said.push("problem" in call ? call : await call.run(context));
  }
  await close();
  console.log(JSON.stringify(said));
  })();
`;

let root: ReturnType<typeof makeFolder>;
const at = (...names: string[]) => join(root.path, ...names);
const put = (path: string, text: string) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

beforeAll(async () => {
  root = makeFolder();
  put(at("state/token"), SECRET);
  put(at("state/threads/other/x"), SECRET);
  mkdirSync(at("state/threads/t"));
  put(at("home/.ssh/id"), SECRET);
  put(at("repos/other/x"), SECRET);
  put(at("repos/shop/a.txt"), "needle\n");
  symlinkSync(at("state/token"), at("repos/shop/link"));
  await build({
    stdin: { contents: PROGRAM, resolveDir: HERE },
    ...{ outfile: at("repos/shop/tools.cjs"), bundle: true, platform: "node", format: "cjs" },
    define: { "import.meta.url": JSON.stringify(import.meta.url) },
    logLevel: "error",
  });
});
afterAll(() => root.remove());

type Calls = [string, object][];
function run(mode: "state" | "secrets" | "workspace", calls: Calls) {
  const [form = "bwrap"] = formsFor(process.getuid?.() ?? 0, mode);
  const { needs } = ownEngine("own").plan({
    ...{ config: { launch: {}, agent: {} }, launch: {}, fold: { chosen: {} } },
    folder: at("state/threads/t"),
  } as never);
  const command = {
    program: process.execPath,
    args: [at("repos/shop/tools.cjs"), JSON.stringify(calls)],
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: at("home") },
    cwd: at("repos/shop"),
  };
  const sandbox = { mode, form, reposDir: at("repos"), reads: [], writes: [] };
  // As in a checkout, where the runner's program is not among the packages: what is seen of those is named.
  const [, runner = ""] = process.argv;
  process.argv[1] = HERE;
  const boxed = inSandbox(command, {
    sandbox,
    stateDir: at("state"),
    folder: at("state/threads/t"),
    files: [],
    needs,
  });
  process.argv[1] = runner;
  const done = spawnSync(boxed.program, boxed.args, {
    cwd: "/",
    env: boxed.env,
    encoding: "utf8",
    timeout: 60_000,
  });
  expect(done.stderr).toBe("");
  return JSON.parse(done.stdout) as { text: string; isError?: boolean }[];
}

const canBox = spawnSync("bwrap", ["--bind", "/", "/", "--unshare-pid", "true"]).status === 0;

// Promise: S17
test.runIf(canBox)(
  "the kernel refuses file tools the state folder, and secrets and other places as the mode says",
  () => {
    const reads = (...paths: string[]) => paths.map((file_path): [string, object] => ["read", { file_path }]);
    const state: Calls = [
      ...reads(at("state/token"), at("repos/shop/link"), at("state/threads/other/x")),
      ["bash", { command: `cat ${at("state/token")}` }],
      ["grep", { pattern: "walnut", path: at("state") }],
      ["ls", { path: at("state/threads") }],
      ["write", { file_path: at("state/threads/other/new"), content: "mine" }],
      ["apply_patch", { patch: `*** Begin Patch\n*** Delete File: ${at("state/token")}\n*** End Patch` }],
    ];
    const open = run("state", [...state, ...reads(at("home/.ssh/id"))]);
    expect(JSON.stringify(open.slice(0, state.length))).not.toContain(SECRET);
    expect(open.at(-1)?.text).toBe(`1\t${SECRET}`);
    const more: Calls = [
      ...reads(at("home/.ssh/id"), at("repos/other/x")),
      ["write", { file_path: at("repos/other/x"), content: "mine" }],
      ["write", { file_path: "/etc/made-by-a-tool", content: "mine" }],
      ["glob", { pattern: "**/*.txt", path: at("repos/shop") }],
      ["grep", { pattern: "needle", path: at("repos/shop") }],
      ["edit", { file_path: at("repos/shop/a.txt"), old_string: "needle", new_string: "thread" }],
    ];
    const kept = run("workspace", [...state, ...more]);
    expect(JSON.stringify(kept)).not.toContain(SECRET);
    const shop = at("repos/shop/a.txt").slice(1);
    expect(kept.slice(-3).map(({ text }) => text)).toEqual([
      shop,
      `${shop}:1: needle`,
      `${shop} was edited (+1 −1 lines).`,
    ]);
    expect(readFileSync(at("repos/shop/a.txt"), "utf8")).toBe("thread\n");
    const untouched = ["state/token", "state/threads/other/x", "repos/other/x"].map((name) =>
      readFileSync(at(name), "utf8"),
    );
    expect(untouched).toEqual([SECRET, SECRET, SECRET]);
    expect([existsSync(at("state/threads/other/new")), existsSync("/etc/made-by-a-tool")]).toEqual([
      false,
      false,
    ]);
  },
);
