/** Whatever directories, branches, commands and errors are called: Discord takes every answer that is made of them. */
import { DiscordAPIError } from "discord.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { HISTORY_PAGE, historyText } from "../../relay/content/lists/history.ts";
import { statusText, threadChoice } from "../../relay/content/lists/threads.ts";
import {
  branchText,
  channelInputText,
  directoryChoice,
  errorSentence,
  homeText,
  killedText,
  openingText,
  threadTitle,
} from "../../relay/content/texts.ts";
import { sentenceOf } from "../../relay/discord/refusals.ts";
import type { Thread } from "../../relay/sidecar/names.ts";
import type { Step } from "../../shared/agent/api.ts";
import type { KillReply } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { WorktreeReply } from "../../shared/worktree-api.ts";
import { hostileText } from "../support/hostile-text.ts";
import { aThreadId } from "../support/ids.ts";

const USER = "123456789012345678";
const RUNS = { numRuns: Number(process.env["RUNS"] ?? 200) };
/** A path, a branch or a name: what systems let a path be at most, which is more than the others. */
const name = hostileText.map((text) => text.slice(0, 4_095) || "x");

function expectAnswer(text: string): void {
  expect(text.trim()).not.toBe("");
  expect([...text].length).toBeLessThanOrEqual(2_000);
}

// Promise: S35
test("what the bot says of threads, their beginnings and ends", () => {
  const facts = fc.record({
    dir: name,
    command: hostileText,
    title: name,
    branch: name,
    by: fc.constantFrom("owner", `discord:${USER}`, `caller:${"_".repeat(64)}`),
    summary: hostileText,
  });
  fc.assert(
    fc.property(
      facts,
      fc.boolean(),
      fc.nat({ max: 99_999 }),
      ({ dir, command, title, branch, by, summary }, isAgent, count) => {
        const type = isAgent ? "agent" : "terminal";
        const from = `https://discord.com/channels/${USER}/${USER}/${USER}`;
        const thread = {
          ...{
            threadId: branch.slice(0, 64),
            number: null,
            type,
            dir,
            command,
            title,
            createdBy: by,
            status: "running",
          },
          ...{
            createdAt: "2026-11-22T10:00:00.000Z",
            origin: null,
            awaiting: null,
            doing: title,
            holds: null,
          },
          ...{ waiting: count, problem: summary },
        } as unknown as Thread;
        const reply = { exitCode: 255, survivors: count + 1, summary } as KillReply;
        const worktree = { branch, fileCount: count, commits: count } as WorktreeReply;
        expectAnswer(openingText({ type, dir, command }, USER));
        expectAnswer(branchText({ parent: thread, userId: USER, text: command, from, files: true }));
        expectAnswer(homeText(thread, USER));
        expectAnswer(killedText(reply, { type }, worktree));
        expectAnswer(channelInputText(USER, command));
        expectAnswer(statusText(thread, { branch, paused: "the thread is archived", now: Date.now() }));
        expectAnswer(`⚠️ ${errorSentence(new AppError("invalid_request", summary))}`);
        expect([...threadTitle(thread)].length).toBeLessThanOrEqual(100);
      },
    ),
    RUNS,
  );
});

test("an agent's steps, a page of them", () => {
  const step = fc.record({
    ...{
      seq: fc.nat(),
      stepId: fc.constant("s"),
      kind: fc.constantFrom("tool", "permission", "turn"),
      title: hostileText,
    },
    ...{ status: fc.constantFrom("running", "completed", "failed"), reason: hostileText, model: hostileText },
    ...{
      startedAt: fc.constant("2026-11-22T10:00:00.000Z"),
      endedAt: fc.constant(null),
      durationMs: fc.nat(),
      tokens: fc.nat(),
    },
  });
  const steps = fc.array(step, { minLength: HISTORY_PAGE, maxLength: HISTORY_PAGE });
  fc.assert(
    fc.property(steps, (found) => {
      const page = {
        threadId: aThreadId(USER),
        number: 99_999,
        hasOlder: true,
        hasNewer: true,
        now: Date.now(),
      };
      expectAnswer(historyText({ ...page, steps: found as unknown as Step[] }));
    }),
    RUNS,
  );
});

// Promise: S35
test("what completes an option", () => {
  fc.assert(
    fc.property(name, name, fc.boolean(), (dir, branch, isDirty) => {
      const choices = [
        directoryChoice(dir, branch, isDirty),
        directoryChoice(dir, undefined, false),
        threadChoice({ threadId: "1", type: "agent", number: 12, title: dir, status: "failed" } as Thread)
          .name,
      ];
      for (const choice of choices) {
        expect(choice.trim()).not.toBe("");
        expect(choice.length).toBeLessThanOrEqual(100);
      }
    }),
    RUNS,
  );
});

test("Discord's own refusals, however many fields they name", () => {
  const errors = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [i, { _errors: [{ code: "X", message: `field ${i} is wrong` }] }]),
  );
  const body = { code: 50_035, message: "Invalid Form Body", errors } as never;
  const error = new DiscordAPIError(body, 50_035, 400, "POST", "u", { files: undefined, body: undefined });
  expectAnswer(`⚠️ ${sentenceOf(error)}`);
});
