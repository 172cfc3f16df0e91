/** Agents made, written to, held, ended and branched from a shell. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { openAgent, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { bash, cliAgents } from "../support/cli-agents.ts";
import { openTerminal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

// Some tests at a time, each with processes of its own to wait for.
vi.setConfig({ testTimeout: 60_000 });

const at = cliAgents();

describe.concurrent("new, send and controls", () => {
  test("new --agent takes model, mode, schema; standard input is the prompt; send goes on", async () => {
    const schema = join(at.sidecar.folders.home, "schema.json");
    writeFileSync(schema, '{"type":"object"}');
    const messages = join(at.sidecar.folders.home, "messages.json");
    writeFileSync(messages, '[{"role":"user","text":"Said before."}]');
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
      "--messages",
      messages,
    ];
    const input = script("hello", { text: "Hello." });
    const made = await at.cli.call(["new", ...options, "shop", "--", "-"], { input });
    expect(made).toMatchObject({ code: 0, stdout: "chosen\n", stderr: "" });
    await untilStatus(at.sidecar, "chosen", "idle");
    const [start, before] = await transcriptOf(at.sidecar, "chosen");
    expect(before).toMatchObject({ type: "initial_message", role: "user", text: "Said before." });
    expect(start).toMatchObject({ config: { model: "some-model", permissionMode: "acceptEdits" } });
    await at.cli.ok("send", "the chosen", script("more", { text: "More." }));
    await until("the second answer", async () => (await at.cli.ok("tail", "chosen")).includes("More."));
    const sources = (await transcriptOf(at.sidecar, "chosen")).flatMap((event) =>
      event.type === "user_message" ? [event.source] : [],
    );
    expect(sources).toEqual(["owner", "owner"]);
    const line = (await at.cli.ok("ls")).split("\n").find((each) => each.startsWith("chosen\t"));
    expect(line).toContain(`\t#${await at.numberOf("chosen")} The chosen one\tagent\t`);
    const bad = await at.cli.call([
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
    [["new", "--agent", "--messages", "/nowhere", "shop", "--", "x"], "--messages: "],
    [["new", "--messages", "/nowhere", "shop", "--", "x"], "--messages: "],
    [["new", "--agent", "--param", "topK=1", "shop", "--", "x"], "--param: must be one of temperature"],
    [["new", "--agent", "--param", "thinking=max", "shop", "--", "x"], "--param: thinking: must be low"],
    [
      ["new", "--agent", "--param", "temperature=1", "shop", "--", "x"],
      "agent.params.temperature: the engine",
    ],
    [["new", "--agent", "--need", "embeddings", "shop", "--", "x"], "agent.needs: the engine"],
    [["new", "--agent", "--max-usd", "much", "shop", "--", "x"], "--max-usd: must be"],
    [["new", "--agent", "--max-turns", "none", "shop", "--", "x"], "--max-turns: must be"],
    [["new", "--agent", "--tag", "", "shop", "--", "x"], "--tag: 0: "],
    [["new", "--agent", "shop", "--", " "], "prompt: must not be empty"],
    [["new", "--max-turns", "3", "shop", "--", "x"], "--max-*: only with --agent"],
    [["limit", "--max-seconds", "0", "t"], "--max-seconds: must be"],
    [["inbox", "--hours", "-1"], "--hours: must be"],
    [["inbox", "--hours", "10000"], "--hours: must be"],
    [["steps", "-n", "x", "t"], "--lines: must be"],
  ])("%j is refused: %s", async (args, sentence) => {
    const result = await at.cli.call(args);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain(`threadmux: ${sentence}`);
  });

  test("what is not for a terminal, or not for an agent, is refused by name", async () => {
    await openTerminal(at.sidecar.client, "a-terminal", "exec cat");
    await openAgent(at.sidecar, "an-agent", script("hi", { text: "Hi." }));
    for (const args of [["interrupt"], ["steps"], ["approve"], ["pause"], ["asks"]]) {
      const result = await at.cli.call([...args, "a-terminal"]);
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
      expect(await at.cli.call(args)).toMatchObject({ code: 2, stderr: expect.stringMatching(expected) });
    }
  });

  test("interrupt ends the turn, pause holds, resume goes on", async () => {
    const endless = bash("touch begun; tail -f /dev/null");
    await at.openAsking("controlled", endless);
    await at.cli.ok("approve", "controlled");
    await until("the call to run", () => existsSync(at.fileOf("controlled", "begun")));
    expect(await at.cli.json("interrupt", "controlled")).toEqual({
      accepted: true,
      threadId: "controlled",
      control: "interrupt",
    });
    await untilStatus(at.sidecar, "controlled", "idle");
    expect((await at.cli.call(["tail", "-f", "controlled"])).code).toBe(1); // the turn was cancelled
    await at.cli.ok("pause", "controlled");
    await until(
      "it to be paused",
      async () => (await at.sidecar.client.getThread("controlled")).status === "paused",
    );
    const refused = await at.cli.call(["send", "controlled", "not now"]);
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining("paused") });
    await at.cli.ok("resume", "controlled", script("after", { text: "Went on." }));
    await until("the answer", async () => (await at.cli.ok("tail", "controlled")).includes("Went on."));
    await at.cli.ok("mode", "controlled", "plan");
    await until("the mode", async () =>
      (await at.cli.ok("tail", "-n", "20", "controlled")).includes("· mode plan"),
    );
  });
});

test("branch goes on from a point in a thread of its own, whose id it prints; the branched one is locked", async () => {
  await openAgent(at.sidecar, "stem", script("one", { text: "Stem." }));
  await untilStatus(at.sidecar, "stem", "idle");
  const said = (await transcriptOf(at.sidecar, "stem")).find(({ type }) => type === "agent_message");
  const made = await at.cli.run([
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
  expect(await at.sidecar.client.getThread("twig")).toMatchObject({
    title: "a twig",
    status: "idle",
    origin: { threadId: "stem", seq: said?.seq },
  });
  expect(await at.sidecar.client.getThread("stem")).toMatchObject({ status: "locked" });
  expect((await at.cli.run(["ls", "--json"])).stdout).toContain('"origin":{"threadId":"stem"');
  const refused = await at.cli.run(["send", "stem", "more"]);
  expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining("was branched and is locked") });
  const wrong = await at.cli.run(["branch", "stem", "--at", "nobody"]);
  expect(wrong).toMatchObject({ code: 3, stderr: expect.stringContaining("nobody has said") });
});
