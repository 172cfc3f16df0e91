/** The command line and agents, against a real sidecar, real tmux and the stand-in engine. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test, vi } from "vitest";
import { ENGINE_NAMES } from "../../shared/agent/engines/engines.ts";
import { openAgent, STAND_IN_CONFIG, script, standIn, transcriptOf, untilStatus } from "../support/agents.ts";
import { buildCli } from "../support/cli.ts";
import { bash, cliAgents } from "../support/cli-agents.ts";
import { callTool } from "../support/mcp.ts";
import { startSidecar } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

// Some tests at a time, each with processes of its own to wait for.
vi.setConfig({ testTimeout: 60_000 });

const at = cliAgents();

describe.concurrent("what an agent does", () => {
  test("tail is its conversation: words, steps, asks with their answers, the turn's end", async () => {
    const id = "tail-agent";
    const rounds = [
      { text: "First the files.", tools: [bash("ls; : \u001b]0;pwned\u0007\u202e")] },
      { tools: [bash("touch made")] },
      { text: "All \u001b[31mdone\u001b[0m." },
    ];
    await openAgent(at.sidecar, id, script("look", ...rounds));
    const follower = at.cli.start(["tail", "-f", "-n", "all", id]);
    let shown = "";
    follower.stdout?.setEncoding("utf8").on("data", (data: string) => (shown += data));
    const ended = new Promise<number | null>((resolve) => follower.once("close", resolve));
    const number = await at.numberOf(id);
    await until("the ask to be shown", () => shown.includes(`→ threadmux approve ${number}\n`));
    expect(follower.exitCode).toBeNull(); // it waits with the agent
    for (;;) {
      const asked = await until("an ask or the end", async () => {
        const { status } = await at.sidecar.client.getThread(id);
        return status === "waiting" || status === "idle" ? status : undefined;
      });
      if (asked === "idle") break;
      await at.cli.call(["approve", id]);
    }
    expect(await ended).toBe(0);
    expect(shown).toMatch(/› owner:/);
    expect(shown).toContain("\nFirst the files.\n");
    expect(shown).toMatch(/\? May it\? Bash touch made\n {4}touch made\n/);
    expect(shown).toMatch(/ {2}✓ Allow once by owner\n/);
    expect(shown).toMatch(/All \ufffd\[31mdone\ufffd\[0m\.\n— 2 steps/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
    expect(shown).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
    const end = await at.cli.ok("tail", "-n", "2", id);
    expect(end).toMatch(/^— 2 steps · \S+ · \d+ tokens.*\n\n$/);
  });

  test("engines says what is there, what each can, and what to type to get it", async () => {
    const said = await at.cli.ok("engines");
    expect(said).toMatch(/^claude: Claude Code.*\n {2}program .*\n {2}can .*asks questions.*\n/m);
    expect(said).toMatch(/^ {2}get it +npm install -g \S/m);
    expect(said).toMatch(/^command: .*\n {2}program +one that you name/m);
    const { engines } = (await at.cli.json("engines")) as { engines: { name: string; isDefault: boolean }[] };
    expect(engines.map(({ name }) => name)).toEqual(ENGINE_NAMES);
    expect(engines.filter(({ isDefault }) => isDefault)).toHaveLength(1);
  });

  test("as JSON: its events, the last so many, or all as they come", async () => {
    await openAgent(at.sidecar, "events", script("hello", { text: "Hello." }));
    await untilStatus(at.sidecar, "events", "idle");
    const events = await transcriptOf(at.sidecar, "events");
    expect(await at.cli.json("tail", "-n", "3", "events")).toMatchObject({
      threadId: "events",
      status: "idle",
      events: events.slice(-3),
    });
    const lines: unknown[] = [];
    const follower = at.cli.start(["tail", "-f", "-n", "all", "--json", "events"]);
    createInterface({ input: follower.stdout! }).on("line", (line) => lines.push(JSON.parse(line)));
    expect(await new Promise((resolve) => follower.once("close", resolve))).toBe(0);
    expect(lines).toEqual(events);
  });

  test("the end of a long transcript is found without the rest", async () => {
    mkdirSync(join(at.sidecar.reposDir, "long"));
    for (let i = 0; i < 400; i++) writeFileSync(at.fileOf("long", `${"a-long-name-".repeat(8)}${i}`), "");
    const rounds = Array.from({ length: 10 }, (_, i) => ({ text: `number ${i}.`, tools: [bash("ls")] }));
    await openAgent(at.sidecar, "long", script("talk", ...rounds, { text: "the last" }));
    await untilStatus(at.sidecar, "long", "idle");
    expect(JSON.stringify(await transcriptOf(at.sidecar, "long")).length).toBeGreaterThan(256 * 1024);
    expect(await at.cli.ok("tail", "-n", "3", "long")).toMatch(/^the last\n— \d+s .*\n\n$/);
    const all = await at.cli.ok("tail", "-n", "all", "long");
    for (let i = 0; i < 10; i++) expect(all).toContain(`number ${i}.`);
    expect(all).toMatch(/\nthe last\n— 10 steps · /);
    // A turn whose beginning lies before what was read is not counted.
    const end = all.split("\n").slice(-26).join("\n").replace("10 steps · ", "");
    expect(await at.cli.ok("tail", "-n", "25", "long")).toBe(end);
  });

  test("a turn that fails: tail -f and new -f exit with 1", async () => {
    const prompt = script("break", { error: { status: 400, message: "no such model" } });
    const made = await at.cli.run(["new", "--agent", "shop", "--id", "broken", "-f", "--", prompt]);
    expect(made.code).toBe(1);
    expect(made.stdout).toContain("no such model");
    expect((await at.cli.call(["tail", "-f", "broken"])).code).toBe(1);
    expect((await at.cli.call(["tail", "broken"])).code).toBe(0);
  });

  test("Ctrl-C leaves tail -f; the agent goes on", async () => {
    await at.openAsking("left", bash("touch made"));
    const follower = at.cli.start(["tail", "-f", "left"]);
    follower.stdout?.once("data", () => follower.kill("SIGINT"));
    expect(await new Promise((resolve) => follower.once("close", resolve))).toBe(130);
    expect((await at.sidecar.client.getThread("left")).status).toBe("waiting");
  });

  test("diff and undo: what the newest turn changed, put back, and taken back", async () => {
    const id = "undo";
    mkdirSync(join(at.sidecar.reposDir, id));
    execFileSync("git", ["init", "-q"], { cwd: join(at.sidecar.reposDir, id) });
    const number = await at.openAsking(id, bash("echo one > made"));
    await at.cli.ok("approve", number);
    await untilStatus(at.sidecar, id, "idle");
    expect(await at.cli.ok("tail", id)).toContain(" · 1 file changed +1 −0\n");
    expect(await at.cli.ok("diff", number)).toContain("+++ b/made\n@@ -0,0 +1 @@\n+one\n");
    const { undoId } = (await at.cli.json("undo", number)) as { undoId: string };
    expect(existsSync(at.fileOf(id, "made"))).toBe(false);
    expect(await at.cli.ok("undo", "--turn", undoId, number)).toMatch(
      /^undone: 1 file as before, made \(u[\d-]+\)\n$/,
    );
    expect(readFileSync(at.fileOf(id, "made"), "utf8")).toBe("one\n");
    const wrong = await at.cli.run(["diff", "--turn", "e9-9", number]);
    expect(wrong.stderr).toContain("There is no diff of e9-9");
  });

  test("rules: what was allowed for the whole thread is listed, and taken back", async () => {
    await at.openAsking("ruled", bash("mkdir made"));
    const [ask] = await at.sidecar.client.listAsks("ruled");
    await at.sidecar.client.answerAsk("ruled", ask?.requestId ?? "", {
      optionId: "thread",
    });
    await untilStatus(at.sidecar, "ruled", "idle");
    const rule = "Bash(mkdir made *)";
    expect(await at.cli.ok("rules", "ruled")).toBe(`${rule}\n`);
    expect(await at.cli.json("rules", "ruled")).toEqual({ threadId: "ruled", rules: [rule] });
    expect(await at.cli.call(["rules", "ruled", "--withdraw", "Bash"])).toMatchObject({
      stdout: "",
      stderr: 'threadmux: This thread has no rule "Bash".\n',
    });
    await at.cli.ok("rules", "ruled", "--withdraw", rule);
    await until("no rule", async () => (await at.cli.ok("rules", "ruled")) === "");
    expect(await at.cli.json("rules", "ruled", "--withdraw-all")).toEqual({
      threadId: "ruled",
      withdrawn: [],
    });
  });

  test("steps: turns, calls and asks, the last so many", async () => {
    const number = await at.openAsking("steps", bash("touch made"));
    // People see the step of the turn that runs, and how long it has gone on.
    const { turn } = await at.sidecar.client.getThread("steps");
    expect(turn).toEqual({ step: 1, startedAt: expect.stringMatching(/Z$/) });
    const listed = (await at.cli.ok("ls")).split("\n").find((line) => line.startsWith("steps\t"));
    expect(listed?.split("\t")[6]).toMatch(/^step 1, \d+s$/);
    expect(await at.cli.ok("status", "steps")).toMatch(/^turn {7}step 1, \d+s$/m);
    // The agent itself, and its parent, are told the same.
    const told = await callTool(at.sidecar, { threadId: "steps", name: "list_threads", input: {} });
    expect(told).toMatch(
      /^You: steps \(#\d+, .+\): waiting, step 1, begun \S+Z; waits for a person: permission\nYou have no open children\.$/,
    );
    await at.cli.ok("approve", number);
    expect((await untilStatus(at.sidecar, "steps", "idle")).turn).toBeNull();
    expect(await at.cli.ok("status", "steps")).not.toMatch(/^turn /m);
    const rows = (await at.cli.ok("steps", "steps"))
      .trimEnd()
      .split("\n")
      .map((row) => row.split("\t"));
    expect(rows.map(([, kind]) => kind)).toEqual(
      expect.arrayContaining(["turn", "chat", "tool", "permission"]),
    );
    expect(rows.find(([, kind]) => kind === "tool")).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      "tool",
      "completed",
      expect.stringMatching(/^\d+s$/),
      "",
      "Bash touch made",
    ]);
    const { steps } = (await at.cli.json("steps", "-n", "2", "steps")) as { steps: unknown[] };
    expect(steps).toEqual((await at.sidecar.client.listSteps("steps")).slice(-2));
  });
});

describe("which agent, and what needs me", () => {
  test("an agent by its number, its title or the start of it; an id goes first", async () => {
    await openAgent(at.sidecar, "named", script("hi", { text: "Hi." }));
    await at.sidecar.client.setTitle("named", "Sort the invoices");
    await openTerminal(at.sidecar.client, "sort", "exec cat");
    const number = await at.numberOf("named");
    for (const name of [number, `#${number}`, `0${number}`, "sort the INVOICES", "Sort the"]) {
      expect(await at.cli.json("status", name), name).toMatchObject({ threadId: "named" });
    }
    expect(await at.cli.json("status", "sort")).toMatchObject({ threadId: "sort" });
    await openAgent(at.sidecar, "named-too", script("hi", { text: "Hi." }));
    await at.sidecar.client.setTitle("named-too", "Sort the invoices again");
    expect(await at.cli.json("status", "sort the invoices")).toMatchObject({ threadId: "named" });
    const several = await at.cli.call(["status", "sort the"]);
    expect(several).toMatchObject({ code: 2, stdout: "" });
    expect(several.stderr).toMatch(/"sort the" fits several threads: named.* \(#\d+\), named.* \(#\d+\)\n$/);
    const none = await at.cli.call(["status", "#99999"]);
    expect(none).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no id, number or title fits "#99999"'),
    });
  });

  test("inbox: asks, failures and ends, each with what to do", async () => {
    const alone = await startSidecar({ ...STAND_IN_CONFIG, agent: standIn() });
    try {
      const own = await buildCli(alone);
      expect(await own.ok("inbox")).toBe("");
      await openAgent(alone, "asking", script("go", { tools: [bash("touch made")] }, { text: "Done." }));
      await untilStatus(alone, "asking", "waiting");
      await openAgent(alone, "ended", script("hi", { text: "It is \u202edone.\nAnd more." }));
      await untilStatus(alone, "ended", "idle");
      await openAgent(
        alone,
        "talking",
        script("hi", { text: "x", waitFor: join(alone.folders.home, "never") }),
      );
      await openAgent(alone, "failed", script("break", { error: { status: 400, message: "no such model" } }));
      await untilStatus(alone, "failed", "failed");
      await openAgent(alone, "stopped", script("go", { tools: [bash("touch made")] }));
      await untilStatus(alone, "stopped", "waiting");
      await own.ok("interrupt", "stopped");
      await untilStatus(alone, "stopped", "idle");
      const text = await own.ok("inbox");
      expect(text).toMatch(/^#1 asking — .+\n\? May it\? Bash touch made\n {4}touch made\n/);
      expect(text).toMatch(
        /\n#2 ended — .+\n✓ has finished\n {4}It is \ufffddone\.\n {2}→ threadmux send 2\n/,
      );
      expect(text).toMatch(/\n#4 failed — .+\n! .*no such model.*\n {2}→ threadmux resume 4\n/);
      expect(text).not.toMatch(/talking|stopped/);
      expect(await own.json("inbox")).toMatchObject({
        asks: [{ threadId: "asking" }],
        failed: [{ threadId: "failed", text: expect.stringContaining("no such model") }],
        ended: [{ threadId: "ended", number: 2, text: "", words: "It is \u202edone.\nAnd more." }],
      });
      expect(await own.ok("inbox", "--hours", "0")).not.toContain("ended");
    } finally {
      await alone.close();
    }
  });
});
