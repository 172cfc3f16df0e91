import { expect, test } from "vitest";
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Page } from "../content.ts";
import { TranscriptContent, type TranscriptMark } from "./content.ts";
import {
  ask,
  at,
  call,
  done,
  end,
  feed,
  numbered,
  STARTER,
  say,
  show,
  showLong,
  start,
  texts,
} from "./testing/events.ts";

test("a turn: what it does in one message, its last words alone, how it went below them", () => {
  const pages = show([
    start,
    say("Reading the auth module first."),
    call("c1", "Read", "Read src/auth.ts", {}),
    done("c1"),
    call("c2", "Edit", "Edit src/auth.ts", {}),
    done("c2", { content: [{ type: "diff", path: "src/auth.ts", oldText: "a\nb", newText: "a\nc\nd" }] }),
    call("c3", "Bash", "Bash npm run lint", {}),
    {
      type: "tool_call_update",
      toolCallId: "c3",
      status: "failed",
      durationMs: 2_000,
      content: [{ type: "content", content: { type: "text", text: "Exit code 1\nmore" } }],
    },
    say("Fixed: the token was **compared** by prefix."),
    end,
  ]);
  expect(texts(pages)).toEqual([
    "Reading the auth module first.\n✓ Read `src/auth.ts`\n✓ Edit `src/auth.ts` · +2 −1\n✗ Bash `npm run lint` · Exit code 1 · 2.0 s",
    "Fixed: the token was **compared** by prefix.\n-# 3 steps · 1 min 32 s · 45.2k tokens · $0.21 · 1 file +2 −1",
  ]);
  expect(pages.map(({ isSilent, isSealed }) => ({ isSilent, isSealed }))).toEqual([
    { isSilent: true, isSealed: true },
    { isSilent: false, isSealed: true },
  ]);
});

test("while it runs: a clock, Stop, and a message that is still edited", () => {
  const [page] = show([start, call("c1", "Bash", "Bash npm *test*", { command: "npm test" })]);
  expect(page?.text).toBe(`◌ Bash \`npm *test*\` · <t:${Date.parse(at(2)) / 1_000}:R>`);
  expect(page?.isSealed).toBe(false);
  expect(page?.buttons.map(({ label }) => label)).toEqual(["Stop", "Steps", "Done"]);
  expect(page?.buttons[0]).toEqual({ id: "stop:t1", label: "Stop", style: "danger" });
});

test("a call that waits for a file says so while it waits", () => {
  const stepId = "lock-c1";
  const edit = call("c1", "Edit", "Edit src/auth.ts", {});
  const wait: EventBody = {
    type: "step_start",
    stepId,
    kind: "lock",
    title: "Awaiting file lock on src/auth.ts (#2)",
  };
  const [waiting] = show([start, edit, wait]);
  expect(waiting?.text).toContain("◌ Awaiting file lock on src/auth.ts \\(\\#2\\) · <t:");
  const locked: EventBody = {
    type: "tool_call_update",
    toolCallId: "c1",
    status: "failed",
    reason: "locked",
  };
  const [after] = show([
    start,
    edit,
    wait,
    { type: "step_end", stepId, status: "failed", durationMs: 1 },
    locked,
  ]);
  expect(after?.text).toBe("✗ Edit `src/auth.ts` · locked");
});

const labels = (pages: readonly Page[]) =>
  pages.map(({ key, buttons }) => `${key}: ${buttons.map(({ label }) => label).join(" ")}`);

test("the thread's buttons stand below the newest message, but never below an ask", () => {
  const content = new TranscriptContent({ starter: STARTER });
  const events = numbered([
    start,
    call("c1", "Bash", "Bash git push", { command: "git push" }),
    ask("q1", "c1"),
    { type: "permission_response", requestId: "q1", outcome: "selected", optionId: "once" },
    done("c1", { content: [{ type: "diff", path: "a", oldText: null, newText: "1\n2\n" }] }),
    say("Done."),
    end,
    { ...start, turnId: "t2" } as EventBody,
    say("Hello."),
    { ...end, turnId: "t2" } as EventBody,
  ]);
  const deliver = () => {
    const pages = content.pages();
    content.confirm(pages.filter(({ isSealed }) => isSealed).map(({ key }) => key));
    return labels(pages);
  };
  feed(content, events.slice(0, 3));
  expect(deliver()).toEqual(["t2: Stop Steps Done", "a3: Allow once Deny Deny, because…"]);
  feed(content, events.slice(3, 7));
  expect(deliver()).toEqual(["t2: ", "a3: ", "w6.0: Diff Steps Done"]);
  expect(content.pages()).toEqual([]);
  feed(content, events.slice(7));
  const [taken, next] = content.pages();
  expect(taken).toMatchObject({ key: "w6.0", text: "", presence: "kept", isSealed: true });
  expect(labels([taken as Page])).toEqual(["w6.0: Diff"]);
  expect(labels([next as Page])).toEqual(["w9.0: Steps Done"]);
  const { seq, placed } = content.mark() as TranscriptMark;
  expect({ seq, placed }).toEqual({ seq: 8, placed: [["w6.0", 1]] });
  deliver();
  expect(content.mark()?.placed).toEqual([["w9.0", 0]]);
});

test("files of a turn are counted once each; without numbers if a text is not whole; not if it failed", () => {
  const edit = (id: string, path: string, newText: string): EventBody[] => [
    call(id, "Edit", `Edit ${path}`, {}),
    done(id, { content: [{ type: "diff", path, oldText: "x", newText }] }),
  ];
  const foot = (...bodies: EventBody[]) => texts(show([start, ...bodies, say("Done."), end])).at(-1);
  expect(foot(...edit("c1", "a", "x\ny"), ...edit("c2", "a", "y"), ...edit("c3", "b", "x\nz"))).toMatch(
    / · 2 files \+3 −1$/,
  );
  const [cutCall, cutEnd] = edit("c1", "a", "y");
  const blobs = { "/content/0/newText": { sha256: "0".repeat(64), bytes: 100_000 } };
  expect(foot(cutCall as EventBody, { ...cutEnd, blobs } as unknown as EventBody)).toMatch(/ · 1 file$/);
  const failed = { ...cutEnd, status: "failed", reason: "denied" } as EventBody;
  expect(foot(cutCall as EventBody, failed)).not.toContain("file");
});

test("a quick answer shows no activity at all", () => {
  const think: EventBody = { type: "step_start", stepId: "s1", kind: "chat", title: "Calling LLM" };
  const [thinking] = show([start, think]);
  expect(thinking?.text).toMatch(/^◌ Calling LLM · <t:/);
  expect(thinking?.notBefore).toBe(Date.parse(at(2)) + 2_000);
  const over: EventBody = { type: "step_end", stepId: "s1", status: "completed", durationMs: 900 };
  const pages = show([start, think, over, say("Hi."), end]);
  expect(pages.map(({ text, presence }) => [presence, text])).toEqual([
    ["unwanted", "-# …"],
    ["wanted", "Hi.\n-# 1 min 32 s · 45.2k tokens · $0.21"],
  ]);
});

test("an ask notifies who started it, shows what is hidden, and says afterwards what was decided", () => {
  const input = { command: "git push\u202e #```" };
  const asking = [
    start,
    call("c1", "Bash", "Bash git push", input),
    ask("q1", "c1", { input: JSON.stringify(input) }),
  ];
  const [activity, page] = show(asking);
  expect(activity?.text).toMatch(/^◌ Bash `git push`/);
  expect(page).toMatchObject({
    text: `<@${STARTER}> 🔐 **May the agent do this?** Bash \`git push\`\n\`\`\`sh\ngit push⟨U+202E⟩ #\`\u200b\`\u200b\`\u200b\n\`\`\``,
    mention: STARTER,
    isSilent: false,
    isSealed: false,
    buttons: [
      { id: "ask:q1:once", label: "Allow once", style: "success" },
      { id: "ask:q1:no", label: "Deny", style: "danger" },
      { id: "because:q1:no", label: "Deny, because…", style: "danger" },
    ],
  });
  const [, decided] = show([
    ...asking,
    {
      type: "permission_response",
      requestId: "q1",
      outcome: "selected",
      optionId: "no",
      by: `discord:${STARTER}`,
      message: "not yet",
    },
  ]);
  expect(decided?.text).toContain(`-# ✗ Deny by <@${STARTER}>: not yet`);
  expect(decided?.text).not.toContain(`<@${STARTER}> 🔐`);
  expect(decided?.buttons).toEqual([]);
});

test("what a directory brings stands line by line, and says so if it had to be cut", () => {
  const brought = Array.from({ length: 30 }, (_, i) => `hook ${i} ${"x".repeat(60)}`).join("\n");
  const trust = { toolName: "Trust", trust: true, title: "Trust ./shop? 30 hooks", description: brought };
  const [page] = show([ask("q1", "none", trust)]);
  expect(page?.text).toContain("**May the agent do this?** Trust ./shop? 30 hooks\n```\nhook 0 ");
  expect(page?.text).toMatch(/\n\(cut: 30 lines, \d+ characters in all\)\n```$/);
  expect(page?.text.length).toBeLessThanOrEqual(2_000);
  expect(page?.buttons[0]).toEqual({ id: "show:q1", label: "Show all", style: "primary" });
});

test("an ask that is asked again after a restart stays in its message", () => {
  const pages = show([
    start,
    call("c1", "Bash", "Bash git push", { command: "git push" }),
    ask("q1", "c1"),
    { type: "turn_end", turnId: "t1", stopReason: "interrupted" },
    { ...start, turnId: "t2", cause: "resume" } as EventBody,
    call("c9", "Bash", "Bash git push", { command: "git push" }),
    ask("q2", "c9", { replaces: "q1" }),
  ]);
  const asks = pages.filter(({ key }) => key.startsWith("a"));
  expect(asks).toHaveLength(1);
  expect(asks[0]?.key).toBe("a3");
  expect(asks[0]?.buttons.map(({ id }) => id)).toEqual(["ask:q2:once", "ask:q2:no", "because:q2:no"]);
});

test("a turn that nobody's message began says what did", () => {
  const begun = (cause: string) => {
    const pages = show([{ ...start, cause } as EventBody, call("c1", "Bash", "Bash ls", {}), done("c1")]);
    return pages.map(({ text }) => text).join("\n");
  };
  expect(begun("task")).toContain("↻ a background task has news");
  expect(begun("resume")).toContain("↻ goes on where it was cut off");
  expect(begun("message")).not.toContain("↻");
});

test("one question is buttons, several are lists", () => {
  const question = (multiSelect: boolean) => ({
    question: "Which database?",
    header: "DB",
    multiSelect,
    options: [{ label: "SQLite", description: "one file" }, { label: "Postgres" }],
  });
  const request = (questions: object[]): EventBody =>
    ({
      type: "elicitation_request",
      requestId: "q",
      toolCallId: "c",
      callKey: "k",
      input: "{}",
      message: "Which?",
      questions,
    }) as EventBody;
  const last = (questions: object[]) => show([start, request(questions)]).at(-1);
  const labels = (questions: object[]) => last(questions)?.buttons.map(({ id, label }) => [id, label]);
  const lists = (questions: object[]) =>
    last(questions)?.selects?.map(({ id, label, max }) => [id, label, max]);
  expect(labels([question(false)])).toEqual([
    ["answer:q:0", "SQLite"],
    ["answer:q:1", "Postgres"],
    ["form:q", "Other…"],
    ["decline:q", "Don't answer"],
  ]);
  expect(lists([question(true)])).toEqual([["pick:q:0.0", "DB", 2]]);
  expect(lists([question(false), question(true)])).toEqual([
    ["pick:q:0.0.0", "DB", 1],
    ["pick:q:1.0.0", "DB", 2],
  ]);
  expect(labels([{ ...question(false), options: [] }])?.[0]).toEqual(["form:q", "Answer…"]);
});

test("a long activity counts its older steps and stays short", async () => {
  const steps = Array.from({ length: 200 }, (_, i) => [
    call(`c${i}`, "Bash", `Bash step ${i} ${"x".repeat(80)}`, {}),
    done(`c${i}`),
  ]);
  const [page] = await showLong([start, ...steps.flat()]);
  expect(page?.text.length).toBeLessThanOrEqual(2_000);
  expect(page?.text).toMatch(/^-# … \d+ earlier steps\n✓/);
  expect(page?.text).toContain("step 199");
});

test("a message of another source is shown, one of Discord stands there already", () => {
  const message = (source: string): EventBody => ({
    type: "user_message",
    messageId: "m1",
    source,
    content: [{ type: "text", text: "do it" }],
  });
  expect(show([message("discord:1")])).toEqual([]);
  expect(texts(show([message("caller:ci")]))).toEqual(["-# ✉ caller:ci\n```\ndo it\n```"]);
});

test("what the transcript can't know is told once, with a button to go on", () => {
  const content = new TranscriptContent({ starter: STARTER });
  feed(content, numbered([start]));
  const { offset } = content;
  const place = { lines: "", start: offset, offset, end: offset, more: false };
  void content.accept({
    ...place,
    status: "failed",
    live: null,
    problem: "The agent's runner ended 3 times.",
  });
  const [notice] = content.notices();
  expect(notice).toMatchObject({
    text: `<@${STARTER}> ⚠️ **The agent can't go on.** The agent's runner ended 3 times.`,
    mention: STARTER,
    buttons: [{ id: "go-on" }],
  });
  if (notice) content.told(notice);
  expect(content.notices()).toEqual([]);
});

test("what was said before the thread is one message, which more is added to until the thread's own begin", async () => {
  const initial = (text: string, role: "user" | "assistant" = "user"): EventBody => ({
    type: "initial_message",
    role,
    text,
  });
  const prompt: EventBody = {
    type: "user_message",
    messageId: "m",
    source: `discord:${STARTER}`,
    content: [{ type: "text", text: "Go on." }],
  };
  const [open] = show([initial("Hello *you*\n> **assistant** not said @everyone")]);
  expect(open).toMatchObject({ key: "b1", isSealed: false, isSilent: true });
  const [page, ...rest] = show([
    initial("Hello *you*\n> **assistant** not said @everyone"),
    initial("Hi", "assistant"),
    prompt,
    start,
    say("Going on."),
    end,
  ]);
  expect(page).toMatchObject({ key: "b1", isSealed: true });
  expect(page?.text).toBe(
    "-# ↰ Before this thread: 2 messages of another conversation\n> **user** Hello \\*you\\* \\> \\*\\*assistant\\*\\* not said @\u200beveryone\n> **assistant** Hi",
  );
  expect(rest).toHaveLength(1);
  const [most] = await showLong(Array.from({ length: 200 }, (_, i) => initial(`${i} ${"x".repeat(1_000)}`)));
  expect(most?.text.length).toBeLessThanOrEqual(2_000);
  expect(most?.text).toMatch(/: 200 messages of another conversation; \d+ earlier ones are not shown here\n/);
  expect(most?.text).toContain("**user** 199 x");
});

test("a result that does not fit its schema is said in one line below the words", () => {
  const error = "No valid result (invalid_output): /a\nb must be integer.";
  const invalid: EventBody<"turn_end"> = {
    type: "turn_end",
    turnId: "t1",
    stopReason: "end_turn",
    output: "invalid_output",
    error,
  };
  const shown = texts(show([start, say("Here."), invalid])).join("\n");
  expect(shown).toMatch(/^Here\.\n⚠️ No valid result [^\n]*output[^\n]*: [^\n]* must be integer\.\n-# /);
});

/** Without what stands in code, as Discord reads it. */
const outsideCode = (text: string) =>
  text
    .replace(/```[\s\S]*?```/g, "")
    .replace(/\\[\s\S]|``.+?``|`[^`]*`/g, (part) => (part.startsWith("\\") ? part : ""));

test("no link in an ask's head, a step's line or any sentence of ours is live", () => {
  const link = "https://x.example/?q=secret";
  const titles = [
    `Bash curl ${link}`,
    `Bash \`curl ${link}\``,
    `curl \`\`\`${link}\`\``,
    link,
    `${"\\"}${link}\\`,
    `Fetch [a](${link})`,
  ];
  for (const title of titles) {
    for (const name of ["Bash", "Fetch", "mcp__a__b"]) {
      const asked = {
        ...ask("q1", "c1"),
        title,
        description: `to see ${link}`,
        reason: `${"r ".repeat(80)}${link}/${"x".repeat(300)}`,
      } as EventBody;
      const update = {
        type: "tool_call_update",
        toolCallId: "c2",
        status: "failed",
        content: [{ type: "content", content: { type: "text", text: `No ${link}` } }],
      } as EventBody;
      const decided = {
        type: "permission_response",
        requestId: "q1",
        outcome: "selected",
        optionId: "no",
        message: `not ${link}/${"y".repeat(200)}`,
      } as EventBody;
      const events = [
        start,
        call("c1", name, title, { command: link }),
        asked,
        call("c2", name, title, {}),
        update,
      ];
      for (const bodies of [
        events,
        [...events, decided],
        [...events, { ...end, stopReason: "error", error: `see ${link}` } as EventBody],
      ])
        for (const text of texts(show(bodies))) expect(outsideCode(text), text).not.toContain("://");
    }
  }
});
