/** The command line and agents, against a real sidecar, real tmux and the stand-in engine. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openAgent, STAND_IN_CONFIG, script, standIn, transcriptOf, untilStatus } from "./support/agents.ts";
import { buildCli, type Cli } from "./support/cli.ts";
import { startSidecar, type TestSidecar } from "./support/sidecar.ts";
import { openTerminal } from "./support/threads.ts";
import { until } from "./support/wait.ts";

// Some tests at a time, each with processes of its own to wait for.
vi.setConfig({ testTimeout: 60_000 });

let sidecar: TestSidecar;
let cli: Cli;

beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
  cli = await buildCli(sidecar);
});
afterAll(() => sidecar?.close());

const bash = (command: string) => ({ name: "Bash", input: { command, description: "d" } });
const question = (text: string, labels: string[], multiSelect = false) => ({
  question: text,
  header: "Q",
  multiSelect,
  options: labels.map((label) => ({ label, description: `about ${label}` })),
});
const questions = (...all: object[]) => ({ name: "AskUserQuestion", input: { questions: all } });
const numberOf = async (id: string) => String((await sidecar.client.getThread(id)).number);
const fileOf = (id: string, name: string) => join(sidecar.reposDir, id, name);
/** An agent that asks for its first call. */
async function openAsking(
  id: string,
  ...tools: { name: string; input: Record<string, unknown> }[]
): Promise<string> {
  await openAgent(sidecar, id, script("go", { tools }, { text: "All done." }));
  await untilStatus(sidecar, id, "waiting");
  return numberOf(id);
}

describe.concurrent("what an agent does", () => {
  test("tail is its conversation: words, steps, asks with their answers, the turn's end", async () => {
    const id = "tail-agent";
    const rounds = [
      { text: "First the files.", tools: [bash("ls; : \u001b]0;pwned\u0007\u202e")] },
      { tools: [bash("touch made")] },
      { text: "All \u001b[31mdone\u001b[0m." },
    ];
    await openAgent(sidecar, id, script("look", ...rounds));
    const follower = cli.start(["tail", "-f", "-n", "all", id]);
    let shown = "";
    follower.stdout?.setEncoding("utf8").on("data", (data: string) => (shown += data));
    const ended = new Promise<number | null>((resolve) => follower.once("close", resolve));
    await until("the ask to be shown", () => shown.includes("→ threadmux approve"));
    const number = await numberOf(id);
    expect(shown).toContain(`→ threadmux approve ${number}\n`);
    expect(follower.exitCode).toBeNull(); // it waits with the agent
    for (;;) {
      const asked = await until("an ask or the end", async () => {
        const { status } = await sidecar.client.getThread(id);
        return status === "waiting" || status === "idle" ? status : undefined;
      });
      if (asked === "idle") break;
      await cli.call(["approve", id]);
    }
    expect(await ended).toBe(0);
    expect(shown).toMatch(/› discord:42:|› api:42:/);
    expect(shown).toContain("\nFirst the files.\n");
    expect(shown).toMatch(/\? May it\? Bash touch made\n {4}touch made\n/);
    expect(shown).toMatch(/ {2}✓ Allow once by api:cli:.+\n/);
    expect(shown).toMatch(/All \ufffd\[31mdone\ufffd\[0m\.\n— 2 steps/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
    expect(shown).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
    const end = await cli.ok("tail", "-n", "2", id);
    expect(end).toMatch(/^— 2 steps · \S+ · \d+ tokens.*\n\n$/);
  });

  test("as JSON: its events, the last so many, or all as they come", async () => {
    await openAgent(sidecar, "events", script("hello", { text: "Hello." }));
    await untilStatus(sidecar, "events", "idle");
    const events = await transcriptOf(sidecar, "events");
    expect(await cli.json("tail", "-n", "3", "events")).toMatchObject({
      threadId: "events",
      status: "idle",
      events: events.slice(-3),
    });
    const lines: unknown[] = [];
    const follower = cli.start(["tail", "-f", "-n", "all", "--json", "events"]);
    createInterface({ input: follower.stdout! }).on("line", (line) => lines.push(JSON.parse(line)));
    expect(await new Promise((resolve) => follower.once("close", resolve))).toBe(0);
    expect(lines).toEqual(events);
  });

  test("the end of a long transcript is found without the rest", async () => {
    mkdirSync(join(sidecar.reposDir, "long"));
    for (let i = 0; i < 400; i++) writeFileSync(fileOf("long", `${"a-long-name-".repeat(8)}${i}`), "");
    const rounds = Array.from({ length: 10 }, (_, i) => ({ text: `number ${i}.`, tools: [bash("ls")] }));
    await openAgent(sidecar, "long", script("talk", ...rounds, { text: "the last" }));
    await untilStatus(sidecar, "long", "idle");
    expect(JSON.stringify(await transcriptOf(sidecar, "long")).length).toBeGreaterThan(256 * 1024);
    expect(await cli.ok("tail", "-n", "3", "long")).toMatch(/^the last\n— \d+s .*\n\n$/);
    const all = await cli.ok("tail", "-n", "all", "long");
    for (let i = 0; i < 10; i++) expect(all).toContain(`number ${i}.`);
    expect(all).toMatch(/\nthe last\n— 10 steps · /);
    // A turn whose beginning lies before what was read is not counted.
    const end = all.split("\n").slice(-26).join("\n").replace("10 steps · ", "");
    expect(await cli.ok("tail", "-n", "25", "long")).toBe(end);
  });

  test("a turn that fails: tail -f and new -f exit with 1", async () => {
    const prompt = script("break", { error: { status: 400, message: "no such model" } });
    const made = await cli.run(["new", "--agent", "shop", "--id", "broken", "-f", "--", prompt]);
    expect(made.code).toBe(1);
    expect(made.stdout).toContain("no such model");
    expect((await cli.call(["tail", "-f", "broken"])).code).toBe(1);
    expect((await cli.call(["tail", "broken"])).code).toBe(0);
  });

  test("Ctrl-C leaves tail -f; the agent goes on", async () => {
    await openAsking("left", bash("touch made"));
    const follower = cli.start(["tail", "-f", "left"]);
    follower.stdout?.once("data", () => follower.kill("SIGINT"));
    expect(await new Promise((resolve) => follower.once("close", resolve))).toBe(130);
    expect((await sidecar.client.getThread("left")).status).toBe("waiting");
  });

  test("diff and undo: what the newest turn changed, put back, and taken back", async () => {
    const id = "undo";
    mkdirSync(join(sidecar.reposDir, id));
    execFileSync("git", ["init", "-q"], { cwd: join(sidecar.reposDir, id) });
    const number = await openAsking(id, bash("echo one > made"));
    await cli.ok("approve", number);
    await untilStatus(sidecar, id, "idle");
    expect(await cli.ok("tail", id)).toContain(" · 1 file changed +1 −0\n");
    expect(await cli.ok("diff", number)).toContain("+++ b/made\n@@ -0,0 +1 @@\n+one\n");
    const { undoId } = (await cli.json("undo", number)) as { undoId: string };
    expect(existsSync(fileOf(id, "made"))).toBe(false);
    expect(await cli.ok("undo", "--turn", undoId, number)).toMatch(
      /^undone: 1 file as before, made \(u\d+\)\n$/,
    );
    expect(readFileSync(fileOf(id, "made"), "utf8")).toBe("one\n");
    const wrong = await cli.run(["diff", "--turn", "e9-9", number]);
    expect(wrong.stderr).toContain("There is no diff of e9-9");
  });

  test("rules: what was allowed for the whole thread is listed, and taken back", async () => {
    await openAsking("ruled", bash("mkdir made"));
    const [ask] = await sidecar.client.listAsks("ruled");
    await sidecar.client.answerAsk("ruled", ask?.requestId ?? "", { optionId: "thread", by: "discord:42" });
    await untilStatus(sidecar, "ruled", "idle");
    const rule = "Bash(mkdir made *)";
    expect(await cli.ok("rules", "ruled")).toBe(`${rule}\n`);
    expect(await cli.json("rules", "ruled")).toEqual({ threadId: "ruled", rules: [rule] });
    expect(await cli.call(["rules", "ruled", "--withdraw", "Bash"])).toMatchObject({
      stdout: "",
      stderr: 'threadmux: This thread has no rule "Bash".\n',
    });
    await cli.ok("rules", "ruled", "--withdraw", rule);
    await until("no rule", async () => (await cli.ok("rules", "ruled")) === "");
    expect(await cli.json("rules", "ruled", "--withdraw-all")).toEqual({ threadId: "ruled", withdrawn: [] });
  });

  test("steps: turns, calls and asks, the last so many", async () => {
    const number = await openAsking("steps", bash("touch made"));
    await cli.ok("approve", number);
    await untilStatus(sidecar, "steps", "idle");
    const rows = (await cli.ok("steps", "steps"))
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
    const { steps } = (await cli.json("steps", "-n", "2", "steps")) as { steps: unknown[] };
    expect(steps).toEqual((await sidecar.client.listSteps("steps")).slice(-2));
  });
});

describe.concurrent("what it asks", () => {
  test("asks shows all that is needed to decide; approve and deny decide", async () => {
    const diff = { file_path: "a.txt", content: "one\ntwo \u202e\n" };
    const number = await openAsking("decide", { name: "Write", input: diff });
    const shown = await cli.ok("asks", number);
    expect(shown).toMatch(new RegExp(`^#${number} decide — .+ · \\d+s\n\\? May it\\? Write a\\.txt\n`));
    expect(shown).toContain("? May it? Write a.txt\n    one\n    two ⟨U+202E⟩\n");
    expect(shown).toContain(`→ threadmux deny ${number} --because`);
    const denied = await cli.ok("deny", `#${number}`, "--because", "not there");
    expect(denied).toBe(`#${number} Write a.txt: Deny\n`);
    await untilStatus(sidecar, "decide", "idle");
    expect(existsSync(fileOf("decide", "a.txt"))).toBe(false);
    expect(await transcriptOf(sidecar, "decide")).toContainEqual(
      expect.objectContaining({ type: "permission_response", optionId: "no", message: "not there" }),
    );
    const late = await cli.call(["approve", number]);
    expect(late).toMatchObject({ code: 4, stderr: `threadmux: #${number} asks nothing now\n` });

    const again = await openAsking("allow", bash("touch made"));
    expect(await cli.json("approve", again)).toMatchObject({
      answered: true,
      threadId: "allow",
      title: "Bash touch made",
    });
    await untilStatus(sidecar, "allow", "idle");
    expect(existsSync(fileOf("allow", "made"))).toBe(true);
  });

  test("approve --always grants the rule that asks names, for the thread alone", async () => {
    await openAgent(
      sidecar,
      "rule",
      script("go", { tools: [bash("mkdir one")] }, { tools: [bash("mkdir one -p two")] }, { text: "Done." }),
    );
    await untilStatus(sidecar, "rule", "waiting");
    expect(await cli.ok("asks", "rule")).toMatch(
      /approve --always \d+ {4}\(Allow "mkdir.*" in this thread\)/,
    );
    expect(await cli.ok("approve", "--always", "rule")).toMatch(/: Allow "mkdir.*" in this thread\n$/);
    await untilStatus(sidecar, "rule", "idle");
    expect(existsSync(fileOf("rule", "two"))).toBe(true);
  });

  test("a question: by number, by label, in words; bad numbers are refused by name", async () => {
    const answersOf = async (id: string) => {
      await untilStatus(sidecar, id, "idle");
      const events = await transcriptOf(sidecar, id);
      return events.flatMap((event) =>
        event.type === "elicitation_response" ? [event.content ?? event.action] : [],
      );
    };
    const database = question("Which database?", ["SQLite", "Postgres"]);
    const days = question("Which days?", ["Mon", "Tue", "Wed"], true);
    await openAsking("by-number", questions(database));
    expect(await cli.ok("asks", "by-number")).toContain(
      "? Which database?\n    1  SQLite: about SQLite\n    2  Postgres",
    );
    expect(await cli.call(["answer", "by-number", "3"])).toMatchObject({
      code: 2,
      stderr: "threadmux: answer: must be a choice from 1 to 2; with --text it is taken as it is\n",
    });
    expect(await cli.call(["answer", "by-number", "1,2"])).toMatchObject({
      code: 2,
      stderr: "threadmux: answer: takes one choice, not 2\n",
    });
    expect(await cli.call(["approve", "by-number"])).toMatchObject({ code: 2 });
    expect(await cli.ok("answer", "by-number", "2")).toMatch(/^#\d+ Which database\?: Postgres\n$/);
    expect(await answersOf("by-number")).toEqual([{ "Which database?": "Postgres" }]);

    await openAsking("by-words", questions(database));
    await cli.ok("answer", "by-words", "the", "old", "one");
    expect(await answersOf("by-words")).toEqual([{ "Which database?": "the old one" }]);

    await openAsking("two", questions(database, days));
    expect(await cli.call(["answer", "two", "1"])).toMatchObject({
      code: 2,
      stderr: "threadmux: answer: 2 questions need 2 answers, not 1\n",
    });
    await cli.ok("answer", "two", "sqlite", "1,3");
    expect(await answersOf("two")).toEqual([{ "Which database?": "SQLite", "Which days?": "Mon, Wed" }]);

    await openAsking("as-text", questions(question("How many?", ["none"])));
    await cli.ok("answer", "--text", "as-text", "7");
    expect(await answersOf("as-text")).toEqual([{ "How many?": "7" }]);

    await openAsking("declined", questions(database));
    await cli.ok("deny", "declined");
    expect(await answersOf("declined")).toEqual(["decline"]);
  });

  test("a plan is shown, sent back with words, and approved", async () => {
    const plan = { name: "ExitPlanMode", input: { plan: "# Plan\n1. one" } };
    const prompt = script("plan", { tools: [plan] }, { tools: [plan] }, { text: "go" });
    const id = (await cli.ok("new", "--agent", "shop", "--mode", "plan", "--", prompt)).trim();
    await untilStatus(sidecar, id, "waiting");
    expect(await cli.ok("asks", id)).toContain("? A plan to approve:\n    # Plan\n    1. one\n");
    expect(await cli.ok("deny", id, "--because", "and tests")).toContain(": Keep planning\n");
    await until("the plan again", async () => (await sidecar.client.listAsks(id))[0]);
    expect(await cli.ok("approve", id)).toContain(": Approve\n");
    await untilStatus(sidecar, id, "idle");
  });
});

describe.concurrent("new, send and controls", () => {
  test("new --agent takes model, mode, schema; standard input is the prompt; send goes on", async () => {
    const schema = join(sidecar.folders.home, "schema.json");
    writeFileSync(schema, '{"type":"object"}');
    const options = [
      "--agent",
      "--id",
      "chosen",
      "--model",
      "some-model",
      "--mode",
      "acceptEdits",
      "--title",
      "The chosen one",
    ];
    const input = script("hello", { text: "Hello." });
    const made = await cli.call(["new", ...options, "shop", "--", "-"], { input });
    expect(made).toMatchObject({ code: 0, stdout: "chosen\n", stderr: "" });
    await untilStatus(sidecar, "chosen", "idle");
    const [start] = await transcriptOf(sidecar, "chosen");
    expect(start).toMatchObject({ config: { model: "some-model", permissionMode: "acceptEdits" } });
    await cli.ok("send", "the chosen", script("more", { text: "More." }));
    await until("the second answer", async () => (await cli.ok("tail", "chosen")).includes("More."));
    const sources = (await transcriptOf(sidecar, "chosen")).flatMap((event) =>
      event.type === "user_message" ? [event.source] : [],
    );
    expect(sources).toEqual([expect.stringMatching(/^api:cli:./), expect.stringMatching(/^api:cli:./)]);
    const line = (await cli.ok("ls")).split("\n").find((each) => each.startsWith("chosen\t"));
    expect(line).toContain(`\t#${await numberOf("chosen")} The chosen one\tagent\t`);
    const bad = await cli.call([
      "new",
      "--agent",
      "--output-schema",
      schema,
      "--engine",
      "demo",
      "shop",
      "--",
      "x",
    ]);
    expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining("agent.outputSchema") });
  });

  test.each([
    [["new", "--model", "m", "shop", "--", "ls"], "--model: only with --agent"],
    [["new", "--agent", "--engine", "none", "shop", "--", "x"], "--engine: "],
    [["new", "--agent", "--output-schema", "/nowhere", "shop", "--", "x"], "--output-schema: "],
    [["new", "--agent", "--max-usd", "much", "shop", "--", "x"], "--max-usd: must be"],
    [["new", "--agent", "--max-turns", "none", "shop", "--", "x"], "--max-turns: must be"],
    [["new", "--max-turns", "3", "shop", "--", "x"], "--max-*: only with --agent"],
    [["limit", "--max-seconds", "0", "t"], "--max-seconds: must be"],
    [["inbox", "--hours", "-1"], "--hours: must be"],
    [["inbox", "--hours", "10000"], "--hours: must be"],
    [["steps", "-n", "x", "t"], "--lines: must be"],
  ])("%j is refused: %s", async (args, sentence) => {
    const result = await cli.call(args);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain(`threadmux: ${sentence}`);
  });

  test("what is not for a terminal, or not for an agent, is refused by name", async () => {
    await openTerminal(sidecar.client, "a-terminal", "exec cat");
    await openAgent(sidecar, "an-agent", script("hi", { text: "Hi." }));
    for (const args of [["interrupt"], ["steps"], ["approve"], ["pause"], ["asks"]]) {
      const result = await cli.call([...args, "a-terminal"]);
      expect(result).toMatchObject({
        code: 2,
        stderr: "threadmux: thread: a-terminal is a terminal; this is for agents\n",
      });
    }
    const refusals: [string[], RegExp][] = [
      [["send", "--next-turn", "a-terminal", "x"], /--next-turn: a-terminal is a terminal/],
      [["send", "--key", "C-c", "an-agent"], /--key: an-agent is an agent/],
      [["send", "--no-enter", "an-agent", "x"], /--no-enter: an-agent is an agent/],
      [["tail", "--text", "an-agent"], /--text: an agent's transcript is text already/],
    ];
    for (const [args, expected] of refusals) {
      expect(await cli.call(args)).toMatchObject({ code: 2, stderr: expect.stringMatching(expected) });
    }
  });

  test("interrupt ends the turn, pause holds, resume goes on", async () => {
    const endless = bash("touch begun; tail -f /dev/null");
    await openAsking("controlled", endless);
    await cli.ok("approve", "controlled");
    await until("the call to run", () => existsSync(fileOf("controlled", "begun")));
    expect(await cli.json("interrupt", "controlled")).toEqual({
      accepted: true,
      threadId: "controlled",
      control: "interrupt",
    });
    await untilStatus(sidecar, "controlled", "idle");
    expect((await cli.call(["tail", "-f", "controlled"])).code).toBe(1); // the turn was cancelled
    await cli.ok("pause", "controlled");
    await until(
      "it to be paused",
      async () => (await sidecar.client.getThread("controlled")).status === "paused",
    );
    const refused = await cli.call(["send", "controlled", "not now"]);
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining("paused") });
    await cli.ok("resume", "controlled", script("after", { text: "Went on." }));
    await until("the answer", async () => (await cli.ok("tail", "controlled")).includes("Went on."));
    await cli.ok("mode", "controlled", "plan");
    await until("the mode", async () =>
      (await cli.ok("tail", "-n", "20", "controlled")).includes("· mode plan"),
    );
  });
});

describe("which agent, and what needs me", () => {
  test("an agent by its number, its title or the start of it; an id goes first", async () => {
    await openAgent(sidecar, "named", script("hi", { text: "Hi." }));
    await sidecar.client.setTitle("named", "Sort the invoices");
    await openTerminal(sidecar.client, "sort", "exec cat");
    const number = await numberOf("named");
    for (const name of [number, `#${number}`, `0${number}`, "sort the INVOICES", "Sort the"]) {
      expect(await cli.json("status", name), name).toMatchObject({ threadId: "named" });
    }
    expect(await cli.json("status", "sort")).toMatchObject({ threadId: "sort" });
    await openAgent(sidecar, "named-too", script("hi", { text: "Hi." }));
    await sidecar.client.setTitle("named-too", "Sort the invoices again");
    expect(await cli.json("status", "sort the invoices")).toMatchObject({ threadId: "named" });
    const several = await cli.call(["status", "sort the"]);
    expect(several).toMatchObject({ code: 2, stdout: "" });
    expect(several.stderr).toMatch(/"sort the" fits several threads: named.* \(#\d+\), named.* \(#\d+\)\n$/);
    const none = await cli.call(["status", "#99999"]);
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

test("branch goes on from a point in a thread of its own, whose id it prints; the branched one is locked", async () => {
  await openAgent(sidecar, "stem", script("one", { text: "Stem." }));
  await untilStatus(sidecar, "stem", "idle");
  const said = (await transcriptOf(sidecar, "stem")).find(({ type }) => type === "agent_message");
  const made = await cli.run([
    "branch",
    "stem",
    "--at",
    String(said?.seq),
    "--id",
    "twig",
    "--title",
    "a twig",
  ]);
  expect(made).toMatchObject({ code: 0, stdout: "twig\n", stderr: "" });
  expect(await sidecar.client.getThread("twig")).toMatchObject({
    title: "a twig",
    status: "idle",
    origin: { threadId: "stem", seq: said?.seq },
  });
  expect(await sidecar.client.getThread("stem")).toMatchObject({ status: "locked" });
  expect((await cli.run(["ls", "--json"])).stdout).toContain('"origin":{"threadId":"stem"');
  const refused = await cli.run(["send", "stem", "more"]);
  expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining("was branched and is locked") });
  const wrong = await cli.run(["branch", "stem", "--at", "nobody"]);
  expect(wrong).toMatchObject({ code: 3, stderr: expect.stringContaining("nobody has said") });
});
