import { expect, test } from "vitest";
import type { EventBody } from "../../../shared/agent/events.ts";
import { TranscriptContent } from "./content.ts";
import {
  ask,
  call,
  deliver,
  done,
  end,
  feedRest,
  numbered,
  restart,
  type Shown,
  STARTER,
  say,
  show,
  start,
} from "./testing/events.ts";

const question: EventBody = {
  type: "elicitation_request",
  requestId: "q1",
  toolCallId: "c1",
  callKey: "k",
  input: "{}",
  message: "Which?",
  questions: [{ question: "Which?", header: "", multiSelect: false, options: [{ label: "SQLite" }] }],
};
const plan = ask("q1", "c1", { toolName: "ExitPlanMode", plan: "# Plan" });
const allow: EventBody = {
  type: "permission_response",
  requestId: "q1",
  outcome: "selected",
  optionId: "once",
};
const answer: EventBody = {
  type: "elicitation_response",
  requestId: "q1",
  action: "accept",
  content: { "Which?": "SQLite" },
};
const kinds = [
  { what: "a permission", request: ask("q1", "c1"), response: allow },
  { what: "a plan", request: plan, response: allow },
  { what: "a question", request: question, response: answer },
];
const ways = (["crashed", "parked", "paused"] as const).flatMap((way) =>
  kinds.map((kind) => ({ way, ...kind })),
);

const asksIn = (shown: Shown) => [...shown].filter(([key]) => key.startsWith("a"));

test.each(ways)(
  "$what that is answered while its engine is $way stays one message, with who decided",
  ({ way, request, response }) => {
    const by = `discord:${STARTER}`;
    // The engine comes back, calls again, and is given the answer that was recorded.
    const again = (requestId: string, replaces: string): EventBody[] => [
      { ...start, turnId: requestId, cause: "resume" } as EventBody,
      call(`c${requestId}`, "Bash", "Bash git push", {}),
      { ...request, requestId, toolCallId: `c${requestId}`, replaces } as EventBody,
      { ...response, requestId } as EventBody,
    ];
    const gone = (turnId: string): EventBody[] => [
      { type: "turn_end", turnId, stopReason: "interrupted" },
      { type: "engine_end", generation: 1, reason: way },
    ];
    const events = numbered([
      start,
      call("c1", "Bash", "Bash git push", {}),
      request,
      ...gone("t1"),
      { ...response, by } as EventBody,
      ...again("q2", "q1"),
      ...gone("q2"),
      ...again("q3", "q2"),
      done("cq3"),
      say("Pushed."),
      { ...end, turnId: "q3" } as EventBody,
    ]);
    for (const restarts of [false, true]) {
      let content = new TranscriptContent({ starter: STARTER });
      const shown: Shown = new Map();
      let told: string | undefined;
      for (let i = 1; i <= events.length; i++) {
        feedRest(content, events.slice(0, i));
        deliver(content, shown);
        if (restarts) content = restart(content, events.slice(0, i));
        if (i === 6) told = shown.get("a3")?.text;
      }
      expect(told).toMatch(new RegExp(`-# ✓ .* by <@${STARTER}>`));
      expect(asksIn(shown)).toEqual([["a3", { text: told, buttons: [] }]]);
      // It can't be asked again: the next process need not read so far back.
      expect(content.mark()?.seq).toBe(events.length + 1);
    }
  },
);

test("what a title is too long to show stands below it, also if the title goes on with it", () => {
  const title = `Bash ${"x".repeat(300)} and deploys to production`;
  const [page] = show([start, ask("q1", "", { title, description: "deploys to production" })]).slice(-1);
  expect(page?.text).toContain("deploys to production");
});
