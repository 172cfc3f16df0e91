/** The command line as a person or a script uses it, against a real sidecar and real tmux: what goes wrong, and help. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { errorReplySchema } from "../../shared/api.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

// Five tests at a time, each with processes of its own to wait for.
vi.setConfig({ testTimeout: 60_000 });

let sidecar: TestSidecar;
let cli: Cli;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 100 });
  cli = await buildCli(sidecar);
});
afterAll(() => sidecar?.close());

describe.concurrent("what goes wrong", () => {
  const refusals: [string, number, string[], Record<string, string>, RegExp][] = [
    ["an unknown command", 2, ["lss"], {}, /unknown command 'lss' \(Did you mean ls\?\)/],
    [
      "an unknown option",
      2,
      ["new", ".", "ls", "-la"],
      {},
      /unknown option '-la'; what belongs to the thread goes after --/,
    ],
    ["a token on the command line", 2, ["ls", "--token", "x"], {}, /unknown option '--token'/],
    ["a missing argument", 2, ["kill"], {}, /missing required argument 'thread'/],
    ["a size that no terminal has", 2, ["resize", "t", "1x1"], {}, /^threadmux: size: /],
    ["half a line count", 2, ["tail", "-n", "1.5", "t"], {}, /^threadmux: --lines: /],
    ["nothing to send", 2, ["send", "t"], {}, /^threadmux: text: missing/],
    ["a bad choice", 2, ["ls", "--status", "some"], {}, /--status.+Allowed choices are open, ended, all/],
    ["a bad address", 2, ["ls"], { VM_URL: "ftp://x" }, /VM_URL: must be/],
    ["no token", 2, ["ls"], { VM_TOKEN: "", STATE_DIR: "/nowhere" }, /VM_TOKEN: missing.+\/nowhere\/token/],
    ["a short token", 2, ["ls"], { VM_TOKEN: "short" }, /VM_TOKEN: must be/],
    ["a wrong token", 2, ["ls"], { VM_TOKEN: "w".repeat(40) }, /token/],
    ["a token file that is not there", 2, ["ls", "--token-file", "no"], {}, /--token-file: can't be read/],
    ["a bad directory", 2, ["new", "../..", "--", "true"], {}, /^threadmux: dir: /],
    ["a bad id", 2, ["new", ".", "--id", "a b", "--", "true"], {}, /^threadmux: --id: /],
    ["an unknown thread", 3, ["screen", "nobody"], {}, /thread: no id, number or title fits "nobody"/],
    ["a sidecar that is not there", 5, ["ls"], { VM_URL: "http://127.0.0.1:1" }, /does not answer/],
    [
      "no sidecar for an agent's task",
      5,
      ["run", "--agent", ".", "--", "x"],
      { VM_URL: "http://127.0.0.1:1" },
      /does not answer/,
    ],
  ];
  /** A page that a proxy answers everything with. */
  const behindPages: string[][] = [
    ["ls"],
    ["new", ".", "--", "true"],
    ["run", "--agent", ".", "--", "x"],
    ["send", "t", "x"],
    ["tail", "t"],
    ["log", "t"],
    ["screen", "t"],
    ["kill", "t"],
    ["status"],
    ["inbox"],
    ["asks"],
    ["approve", "t"],
    ["steps", "t"],
    ["diff", "t"],
    ["wait", "t"],
    ["events"],
    ["engines"],
    ["job", "list"],
    ["channel", "list"],
    ["role", "list"],
    ["room", "ls"],
    ["memory", "ls"],
    ["worktree", "t"],
    ["browser", "http://127.0.0.1:1"],
    ["resize", "t", "80x24"],
  ];
  const pageRows = behindPages.map((args) => ({ name: args.join(" "), args }));
  test.each(pageRows)("a proxy's page for $name is told as such", async ({ args }) => {
    const page = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<h1>Sign in</h1>");
    });
    await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
      const { code, stdout, stderr } = await cli.call(args, { env: { VM_URL: url } });
      expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
      expect(stderr).toMatch(/^threadmux: [^\n]+\n$/);
      expect(stderr).toContain(`${url}/`);
      expect(stderr).toContain("is no sidecar: HTTP 200 with text/html");
    } finally {
      page.close();
      page.closeAllConnections();
    }
  });

  test.each([
    ["that hangs", "", "threadmux: waiting for the sidecar at URL\n"],
    [
      "whose programs hang",
      "/healthz",
      "threadmux: waiting for the sidecar at URL, which asks the engines' programs; at most 60 s\n",
    ],
  ])("engines says after some seconds that it waits for a sidecar %s", async (_what, answered, said) => {
    const health = JSON.stringify(await sidecar.client.getHealth());
    const asked: string[] = [];
    const hanging = createServer((request, response) => {
      asked.push(request.url ?? "");
      if (request.url === answered) response.end(health);
    });
    await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
    const child = cli.start(["engines"], { env: { VM_URL: url } });
    try {
      let shown = "";
      child.stderr?.on("data", (chunk: Buffer) => {
        shown += String(chunk);
      });
      await until("a word of what is waited for", () => shown !== "");
      expect(shown).toBe(said.replace("URL", url));
      // That call has 15 s, as all others.
      expect(asked[0]).toBe("/healthz");
    } finally {
      child.kill("SIGKILL");
      hanging.closeAllConnections();
      hanging.close();
    }
  });

  test("a wrong token for an agent's task is told once: no thread may be open", async () => {
    const env = { VM_TOKEN: "w".repeat(40) };
    const plain = await cli.call(["run", "--agent", ".", "--", "x"], { env });
    expect(plain).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^threadmux: [^\n]*token[^\n]*\n$/),
    });
  });

  test.each(refusals)("%s: exit code %i", async (_what, code, args, env, expected) => {
    const plain = await cli.call(args, { env });
    expect(plain).toMatchObject({ code, stdout: "" });
    expect(plain.stderr).toMatch(expected);
    expect(plain.stderr).toMatch(/^threadmux: [^\n]+\n$/);
  });

  test.each([
    ["invalid_request", 2, ["--json", "lss"], {}],
    ["invalid_request", 2, ["--json"], {}],
    ["not_found", 3, ["screen", "nobody", "--json"], {}],
    ["unavailable", 5, ["ls", "--json"], { VM_URL: "http://127.0.0.1:1" }],
  ] as const)("with --json, %s is said as JSON", async (expected, code, args, env) => {
    const result = await cli.call(args, { env });
    expect(result).toMatchObject({ code, stdout: "" });
    expect(errorReplySchema.parse(JSON.parse(result.stderr)).code).toBe(expected);
  });

  test("the process exits with it", async () => {
    await openTerminal(sidecar.client, "taken", "exec cat");
    const exits: [number, string[], Record<string, string>][] = [
      [2, ["lss"], {}],
      [3, ["screen", "nobody"], {}],
      [4, ["new", ".", "--id", "taken", "--", "true"], {}],
      [5, ["ls"], { VM_URL: "http://127.0.0.1:1" }],
    ];
    for (const [code, args, env] of exits) {
      const result = await cli.run(args, { env });
      expect(result).toMatchObject({
        code,
        stdout: "",
        stderr: expect.stringMatching(/^threadmux: [^\n]+\n$/),
      });
    }
  });

  test("help is asked for or given", async () => {
    const { code, stdout, stderr } = await cli.call(["tail", "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("\nExamples:\n  threadmux tail shop\n");
    const bare = await cli.call([]);
    expect(bare).toMatchObject({ code: 2, stdout: "" });
    expect(bare.stderr).toMatch(/^Usage: threadmux /);
    for (const word of ["input comes too fast", "130  ended by Ctrl-C"]) expect(bare.stderr).toContain(word);
  });

  test("the package offers it under its name", () => {
    const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
    expect(JSON.parse(read("package.json"))).toMatchObject({ bin: { threadmux: "dist/cli/main.js" } });
    expect(read("cli/main.ts")).toMatch(/^#!\/usr\/bin\/env node\n/);
  });
});
