import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { threadConfigSchema } from "../../../shared/agent/config.ts";
import { emptyFold } from "../../../shared/agent/fold.ts";
import { makeFolder } from "../../../test/support/folders.ts";
import { resumePrompt } from "../../core/resume-prompt.ts";
import type { Launch } from "../../engine.ts";
import { config, launch as newLaunch } from "../../testing/thread.ts";
import { planLaunch } from "./launch.ts";
import { readHomeSettings, SETTINGS_FILE, type Settings } from "./settings.ts";
import { findVersionProblem } from "./version.ts";

const launch: Launch = { ...newLaunch, generation: 2, sessionId: "S", resumed: true, takesUp: true };
const request = {
  config,
  launch,
  fold: emptyFold(),
  env: { A: "1" },
  folder: "/f",
};

test("a cut-off turn is taken up with its calls shown, and nothing is chosen that nobody chose", () => {
  const { args, env } = planLaunch(request);
  expect(args).toContain("--resume");
  expect(args).not.toContain("--permission-mode");
  expect(args).not.toContain("--model");
  expect(env).toMatchObject({
    A: "1",
    CLAUDE_CODE_RESUME_INTERRUPTED_TURN: "1",
    CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS: "1",
  });
});

test("without a cut-off turn nothing runs by itself", () => {
  const { env } = planLaunch({ ...request, launch: { ...launch, takesUp: false } });
  expect(env).toEqual({ A: "1", CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "1" });
});

test("what people chose and granted holds over restarts; prompts are in files", () => {
  const changed = threadConfigSchema.parse({
    ...config,
    agent: { systemPrompt: "secret words", permissionMode: "plan" },
  });
  const chosen = { modeId: "acceptEdits", model: "haiku" };
  const fold = { ...emptyFold(), chosen, grantedRules: ["Bash(npm test:*)"] };
  const { args } = planLaunch({ ...request, config: changed, fold });
  const after = (name: string) => args[args.indexOf(name) + 1];
  expect([after("--permission-mode"), after("--model"), after("--allowedTools")]).toEqual([
    "acceptEdits",
    "haiku",
    "Bash(npm test:*)",
  ]);
  expect(args.join(" ")).not.toContain("secret words");
  expect(after("--append-system-prompt-file")).toBe("/f/system-prompt.txt");
});

test("what was asked of the model's calls stands above the person's own variables", () => {
  const params = { thinking: "low", maxInputTokens: 150_000, maxOutputTokens: 9_000 };
  const changed = threadConfigSchema.parse({ ...config, agent: { params } });
  const env = { CLAUDE_CODE_EFFORT_LEVEL: "max", CLAUDE_CODE_MAX_OUTPUT_TOKENS: "1" };
  const plan = planLaunch({ ...request, config: changed, env });
  expect(plan.args.slice(plan.args.indexOf("--effort"))).toEqual(["--effort", "low"]);
  expect(plan.env).toMatchObject({
    CLAUDE_CODE_EFFORT_LEVEL: "low",
    CLAUDE_CODE_AUTO_COMPACT_WINDOW: "150000",
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: "9000",
  });
  expect(planLaunch({ ...request, env }).env).toMatchObject(env);
});

test("what people attach may be read unasked, nothing beside it", () => {
  const rulesIn = (folder: string) => {
    const { args } = planLaunch({ ...request, folder });
    return args.filter((arg) => arg.startsWith("Read("));
  };
  expect(rulesIn("/state/threads/t-1")).toEqual(["Read(//state/threads/t-1/attachments/**)"]);
  expect(rulesIn("/state/a) Bash(*")).toEqual([]);
});

test("a branch forks its parent's conversation at its point", () => {
  const origin = { threadId: "p", seq: 4, sessionId: "P", at: "uuid" };
  const changed = threadConfigSchema.parse({ ...config, origin });
  const { args } = planLaunch({
    ...request,
    config: changed,
    launch: { ...launch, resumed: false, takesUp: false },
  });
  const fork = ["--resume", "P", "--resume-session-at", "uuid", "--fork-session", "--session-id", "S"];
  expect(args.join(" ")).toContain(fork.join(" "));
});

test("the resume prompt names the calls that did not run", () => {
  expect(resumePrompt([])).not.toContain("call them again");
  expect(resumePrompt([{ toolName: "Bash", input: '{"command":"ls"}' }])).toMatch(
    /did NOT run; call them again:\n- Bash {"command":"ls"}$/,
  );
});

test("the resume prompt tells what people answered, the newest if it is too much", () => {
  const answer = (question: string, more: object) => ({
    ...{ requestId: "q", toolCallId: "c", callKey: "k", toolName: "AskUserQuestion", generation: 1 },
    ...{ input: `{"questions":"${question}"}` },
    response: { kind: "elicitation" as const, action: "accept" as const, content: { [question]: "Red" } },
    ...more,
  });
  const declined = { response: { kind: "elicitation" as const, action: "decline" as const } };
  const heardAnswers = [answer('A "1"?\n- Bash {}', {}), answer("B?", declined)];
  expect(resumePrompt([], { heardAnswers })).toMatch(
    /answered; do not ask them again: "A \\"1\\"\?\\n- Bash {}"="Red", the person declined to answer {"questions":"B\?"}\.$/,
  );
  const many = Array.from({ length: 20 }, (_, n) => answer(`${n}${"?".repeat(2_000)}`, {}));
  const long = resumePrompt([], { heardAnswers: many });
  expect(long.length).toBeLessThan(11_000);
  expect(long).toMatch(/"19\?+"="Red"\.$/);
});

test.each([
  ["2.1.330 (Claude Code)", undefined],
  ["2.2.0 (Claude Code)", undefined],
  ["10.0.0", undefined],
  ["2.1.329 (Claude Code)", "engine_too_old"],
  ["1.9.999", "engine_too_old"],
  ["hello", "engine_missing"],
])("version %s: %s", (output, code) => {
  expect(findVersionProblem("claude", output)?.code).toBe(code);
});

test("a result's schema goes without the name of its draft", () => {
  const outputSchema = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
  const withSchema = threadConfigSchema.parse({ ...config, agent: { outputSchema } });
  const { args } = planLaunch({ ...request, config: withSchema });
  expect(args[args.indexOf("--json-schema") + 1]).toBe('{"type":"object"}');
});

test("what doubles ours is off; a person's own settings bring back what goes round nobody", () => {
  const off = (theirs?: Settings, home?: Settings) => {
    const { args, files } = planLaunch(request, theirs, home);
    const { crossSessionInbound, autoMemoryEnabled } = JSON.parse(files?.[SETTINGS_FILE] ?? "{}");
    const tools = args[args.indexOf("--disallowedTools") + 1]?.split(",") ?? [];
    return { tools, crossSessionInbound, autoMemoryEnabled };
  };
  const all = off();
  expect(all).toMatchObject({ crossSessionInbound: "refuse", autoMemoryEnabled: false });
  expect(all.tools).toEqual(
    expect.arrayContaining(["CronCreate", "ScheduleWakeup", "Monitor", "SendMessage", "ListAgents"]),
  );
  const asked = {
    permissions: { allow: ["Monitor", "SendMessage", "ListAgents", "EnterWorktree", "Bash(Workflow)"] },
    autoMemoryEnabled: true,
    crossSessionInbound: "accept",
  };
  for (const back of [off(asked), off({}, asked)]) {
    expect(all.tools.filter((tool) => !back.tools.includes(tool))).toEqual(["Monitor"]);
    expect(back.crossSessionInbound).toBe("refuse");
    expect(back.autoMemoryEnabled).not.toBe(false);
  }
});

test("the settings of a home that has none, or broken ones, ask nothing back", () => {
  const folder = makeFolder();
  try {
    expect(readHomeSettings(folder.path)).toEqual({});
    writeFileSync(join(folder.path, "settings.json"), '{"permissions":{"allow":"Monitor"}}');
    expect(readHomeSettings(folder.path)).toEqual({});
    writeFileSync(join(folder.path, "settings.json"), '{"permissions":{"allow":["Monitor"]}}');
    expect(readHomeSettings(folder.path)).toEqual({ permissions: { allow: ["Monitor"] } });
  } finally {
    folder.remove();
  }
});
