/** What agents ask, read and answered from a shell. */
import { existsSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { openAgent, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { bash, cliAgents } from "../support/cli-agents.ts";
import { until } from "../support/wait.ts";

// Some tests at a time, each with processes of its own to wait for.
vi.setConfig({ testTimeout: 60_000 });

const at = cliAgents();
const question = (text: string, labels: string[], multiSelect = false) => ({
  question: text,
  header: "Q",
  multiSelect,
  options: labels.map((label) => ({ label, description: `about ${label}` })),
});
const questions = (...all: object[]) => ({ name: "AskUserQuestion", input: { questions: all } });

describe.concurrent("what it asks", () => {
  test("asks shows all that is needed to decide; approve and deny decide", async () => {
    const diff = { file_path: "a.txt", content: "one\ntwo \u202e\n" };
    const number = await at.openAsking("decide", { name: "Write", input: diff });
    const shown = await at.cli.ok("asks", number);
    expect(shown).toMatch(new RegExp(`^#${number} decide — .+ · \\d+s\n\\? May it\\? Write a\\.txt\n`));
    expect(shown).toContain("? May it? Write a.txt\n    one\n    two ⟨U+202E⟩\n");
    expect(shown).toContain(`→ threadmux deny ${number} --because`);
    const denied = await at.cli.ok("deny", `#${number}`, "--because", "not there");
    expect(denied).toBe(`#${number} Write a.txt: Deny\n`);
    await untilStatus(at.sidecar, "decide", "idle");
    expect(existsSync(at.fileOf("decide", "a.txt"))).toBe(false);
    expect(await transcriptOf(at.sidecar, "decide")).toContainEqual(
      expect.objectContaining({ type: "permission_response", optionId: "no", message: "not there" }),
    );
    const late = await at.cli.call(["approve", number]);
    expect(late).toMatchObject({ code: 4, stderr: `threadmux: #${number} asks nothing now\n` });

    const again = await at.openAsking("allow", bash("touch made"));
    expect(await at.cli.json("approve", again)).toMatchObject({
      answered: true,
      threadId: "allow",
      title: "Bash touch made",
    });
    await untilStatus(at.sidecar, "allow", "idle");
    expect(existsSync(at.fileOf("allow", "made"))).toBe(true);
  });

  test("approve --always grants the rule that asks names, for the thread alone", async () => {
    await openAgent(
      at.sidecar,
      "rule",
      script("go", { tools: [bash("mkdir one")] }, { tools: [bash("mkdir one -p two")] }, { text: "Done." }),
    );
    await untilStatus(at.sidecar, "rule", "waiting");
    expect(await at.cli.ok("asks", "rule")).toMatch(
      /approve --always \d+ {4}\(Allow "mkdir.*" in this thread\)/,
    );
    expect(await at.cli.ok("approve", "--always", "rule")).toMatch(/: Allow "mkdir.*" in this thread\n$/);
    await untilStatus(at.sidecar, "rule", "idle");
    expect(existsSync(at.fileOf("rule", "two"))).toBe(true);
  });

  test("a question: by number, by label, in words; bad numbers are refused by name", async () => {
    const answersOf = async (id: string) => {
      await untilStatus(at.sidecar, id, "idle");
      const events = await transcriptOf(at.sidecar, id);
      return events.flatMap((event) =>
        event.type === "elicitation_response" ? [event.content ?? event.action] : [],
      );
    };
    const database = question("Which database?", ["SQLite", "Postgres"]);
    const days = question("Which days?", ["Mon", "Tue", "Wed"], true);
    await at.openAsking("by-number", questions(database));
    expect(await at.cli.ok("asks", "by-number")).toContain(
      "? Which database?\n    1  SQLite: about SQLite\n    2  Postgres",
    );
    expect(await at.cli.call(["answer", "by-number", "3"])).toMatchObject({
      code: 2,
      stderr: "threadmux: answer: must be a choice from 1 to 2; with --text it is taken as it is\n",
    });
    expect(await at.cli.call(["answer", "by-number", "1,2"])).toMatchObject({
      code: 2,
      stderr: "threadmux: answer: takes one choice, not 2\n",
    });
    expect(await at.cli.call(["approve", "by-number"])).toMatchObject({ code: 2 });
    expect(await at.cli.ok("answer", "by-number", "2")).toMatch(/^#\d+ Which database\?: Postgres\n$/);
    expect(await answersOf("by-number")).toEqual([{ "Which database?": "Postgres" }]);

    await at.openAsking("by-words", questions(database));
    await at.cli.ok("answer", "by-words", "the", "old", "one");
    expect(await answersOf("by-words")).toEqual([{ "Which database?": "the old one" }]);

    await at.openAsking("two", questions(database, days));
    expect(await at.cli.call(["answer", "two", "1"])).toMatchObject({
      code: 2,
      stderr: "threadmux: answer: 2 questions need 2 answers, not 1\n",
    });
    await at.cli.ok("answer", "two", "sqlite", "1,3");
    expect(await answersOf("two")).toEqual([{ "Which database?": "SQLite", "Which days?": "Mon, Wed" }]);

    await at.openAsking("as-text", questions(question("How many?", ["none"])));
    await at.cli.ok("answer", "--text", "as-text", "7");
    expect(await answersOf("as-text")).toEqual([{ "How many?": "7" }]);

    await at.openAsking("declined", questions(database));
    await at.cli.ok("deny", "declined");
    expect(await answersOf("declined")).toEqual(["decline"]);
  });

  test("a plan is shown, sent back with words, and approved", async () => {
    const plan = { name: "ExitPlanMode", input: { plan: "# Plan\n1. one" } };
    const prompt = script("plan", { tools: [plan] }, { tools: [plan] }, { text: "go" });
    const id = (await at.cli.ok("new", "--agent", "shop", "--mode", "plan", "--", prompt)).trim();
    await untilStatus(at.sidecar, id, "waiting");
    expect(await at.cli.ok("asks", id)).toContain("? A plan to approve:\n    # Plan\n    1. one\n");
    expect(await at.cli.ok("deny", id, "--because", "and tests")).toContain(": Keep planning\n");
    await until("the plan again", async () => (await at.sidecar.client.listAsks(id))[0]);
    expect(await at.cli.ok("approve", id)).toContain(": Approve\n");
    await untilStatus(at.sidecar, id, "idle");
  });
});
