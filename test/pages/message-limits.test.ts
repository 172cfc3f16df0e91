/** Whatever an agent, a program or a person says: Discord takes every message that is made of it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { messageCreateSchema, parseBody } from "../../local-discord/validate.ts";
import { reasonForm } from "../../relay/actions/because.ts";
import { answerForm } from "../../relay/actions/form.ts";
import { questionControls } from "../../relay/actions/pick.ts";
import type { MessageText } from "../../relay/content/content.ts";
import { channelStatus, channelWords } from "../../relay/content/lists/channel.ts";
import { inboxHead, inboxLine } from "../../relay/content/lists/inbox.ts";
import { fitLines } from "../../relay/content/lists/lines.ts";
import { TranscriptContent } from "../../relay/content/transcript/content.ts";
import { formsOf, inForm } from "../../relay/delivery/message-forms.ts";
import { outgoing } from "../../relay/delivery/outgoing.ts";
import { toModal } from "../../relay/discord/form.ts";
import type { Thread } from "../../relay/sidecar/names.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import { toEvent } from "../../shared/agent/events.ts";
import { hostileText as hostile } from "../support/hostile-text.ts";
import { aDiscordId } from "../support/ids.ts";

const STARTER = "123456789012345678";
const RUNS = { numRuns: Number(process.env["RUNS"] ?? 200) };

const some = (max: number) => fc.array(hostile, { maxLength: max });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const id = fc.oneof(fc.constantFrom("r1", "r-2", "x".repeat(80)), fc.uuid());
const by = fc.constantFrom(`discord:${STARTER}`, "owner", `caller:${"_".repeat(64)}`, "thread:child-1");

const option = fc.record(
  {
    optionId: fc.oneof(fc.constantFrom("once", "always", "no"), hostile),
    name: hostile,
    kind: fc.constantFrom("allow_once", "allow_always", "reject_once", "reject_always"),
    rule: hostile,
  },
  { requiredKeys: ["optionId", "name", "kind"] },
);
const question = fc.record({
  question: hostile,
  header: hostile,
  multiSelect: fc.boolean(),
  options: fc.array(fc.record({ label: hostile, description: hostile }), { maxLength: 30 }),
});
const permission = fc.record(
  {
    type: fc.constant("permission_request"),
    requestId: id,
    toolCallId: fc.constant("c1"),
    toolName: fc.constantFrom("Bash", "Edit", "Other"),
    callKey: fc.constant("k"),
    input: hostile,
    options: fc.array(option, { maxLength: 30 }),
    title: hostile,
    description: hostile,
    reason: hostile,
    plan: hostile,
  },
  { requiredKeys: ["type", "requestId", "toolCallId", "toolName", "callKey", "input", "options", "title"] },
);
const elicitation = fc.record({
  type: fc.constant("elicitation_request"),
  requestId: id,
  toolCallId: fc.constant("c1"),
  callKey: fc.constant("k"),
  input: hostile,
  message: hostile,
  questions: fc.array(question, { minLength: 1, maxLength: 6 }),
});
const left = fc.array(fc.record({ path: hostile, reason: hostile }), { maxLength: 20 });
const bodies: fc.Arbitrary<object> = fc.oneof(
  fc.record({ type: fc.constant("agent_message"), messageId: id, at: fc.constant("u"), text: hostile }),
  fc.record({
    type: fc.constant("tool_call"),
    toolCallId: fc.constantFrom("c1", "c2"),
    at: fc.constant("u"),
    name: hostile,
    title: hostile,
    kind: fc.constant("execute"),
    rawInput: fc.record({ command: hostile }),
  }),
  fc.record({
    type: fc.constant("tool_call_update"),
    toolCallId: fc.constantFrom("c1", "c2"),
    status: fc.constantFrom("completed", "failed"),
    content: some(2).map((texts) =>
      texts.map((text) => ({ type: "content", content: { type: "text", text } })),
    ),
  }),
  fc.record({
    type: fc.constant("step_start"),
    stepId: fc.constant("s1"),
    kind: fc.constantFrom("chat", "setup"),
    title: hostile,
  }),
  fc.record({ type: fc.constant("failure"), code: fc.constant("cut_off"), message: hostile }),
  fc.record({
    type: fc.constant("notice"),
    severity: fc.constant("warning"),
    title: hostile,
    description: maybe(hostile),
  }),
  fc.record({
    type: fc.constant("memory_write"),
    noteId: id,
    writeId: id,
    path: hostile,
    how: fc.constantFrom("append", "replace", "remove"),
    state: fc.constantFrom("waiting", "written"),
    text: hostile,
  }),
  fc.record({
    type: fc.constant("file_sent"),
    fileId: id,
    name: hostile,
    bytes: fc.nat(),
    caption: maybe(hostile),
  }),
  fc.record({
    type: fc.constant("message_sent"),
    messageId: id,
    threadId: hostile,
    text: hostile,
    number: maybe(fc.constant(7)),
  }),
  fc.record({
    type: fc.constant("user_message"),
    messageId: id,
    source: by,
    content: some(3).map((texts) => [
      { type: "text", text: "x" },
      ...texts.map((text) => ({ type: "text", text })),
    ]),
  }),
  fc.record({
    type: fc.constant("message_edit"),
    messageId: id,
    by,
    applied: fc.boolean(),
    content: fc.constant([{ type: "text", text: "x" }]),
  }),
  fc.record({
    type: fc.constant("initial_message"),
    role: fc.constantFrom("user", "assistant"),
    text: hostile,
  }),
  fc.record({
    type: fc.constant("undo"),
    undoId: fc.constant("u5"),
    target: id,
    by,
    status: fc.constantFrom("completed", "refused"),
    files: fc.nat({ max: 30 }),
    restored: some(20),
    left,
    leftCount: fc.nat({ max: 30 }),
    message: maybe(hostile),
  }),
  fc.record({
    type: fc.constant("turn_changes"),
    turnId: fc.constant("t1"),
    files: fc.nat(),
    added: fc.nat(),
    removed: fc.nat(),
    othersCount: fc.nat(),
    problem: maybe(hostile),
  }),
  fc.record({
    type: fc.constant("turn_end"),
    turnId: fc.constant("t1"),
    stopReason: fc.constantFrom("end_turn", "error", "refusal", "cancelled"),
    error: maybe(hostile),
    durationMs: fc.nat(),
  }),
  permission,
  elicitation,
  fc.record({
    type: fc.constant("permission_response"),
    requestId: id,
    outcome: fc.constantFrom("selected", "cancelled"),
    optionId: fc.constantFrom("once", "no"),
    by,
    message: maybe(hostile),
  }),
  fc.record({
    type: fc.constant("elicitation_response"),
    requestId: id,
    action: fc.constantFrom("accept", "decline", "cancel"),
    by,
    content: fc.dictionary(hostile, hostile, { maxKeys: 5 }),
  }),
);
const turn = { type: "turn_start", turnId: "t1", cause: "message", deliveryIds: ["d"] };

interface Row {
  components: {
    label?: string;
    placeholder?: string;
    options?: { label: string; value: string; description?: string }[];
  }[];
}

/** As Discord does, which trims what it is given. */
function expectTaken(message: MessageText): void {
  const body = outgoing(message);
  if (message.text !== "") parseBody(messageCreateSchema, { ...body, content: body.content.trim() });
  // Nothing at its ends is trimmed: what is echoed is compared.
  expect(message.text.trim()).toBe(message.text);
  for (const { components } of (body.components ?? []) as Row[]) {
    for (const { label, placeholder, options = [] } of components) {
      expect((label ?? placeholder ?? "").trim()).not.toBe("");
      for (const option of options) {
        expect(option.label.trim()).not.toBe("");
        expect(option.label.length).toBeLessThanOrEqual(100);
        expect(option.description === undefined || /^(?=.*\S).{1,100}$/su.test(option.description)).toBe(
          true,
        );
      }
      expect(new Set(options.map(({ value }) => value)).size).toBe(options.length);
    }
  }
}

function everyForm(message: MessageText): void {
  expectTaken(message);
  for (const form of formsOf(message)) {
    const { post } = inForm(message, form, `Invalid Form Body\n${"_".repeat(900)}`);
    if (post.text !== "") expectTaken(post);
  }
}

// Promise: R24, S35
test("every message of a transcript, in every form", { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(
      fc.array(bodies, { minLength: 1, maxLength: 8 }),
      hostile,
      fc.boolean(),
      (all, problem, isStarted) => {
        const events = (isStarted ? [turn, ...all] : all).flatMap((body, i) => {
          const place = { seq: i + 1, id: `r${i + 1}.0`, ts: new Date(1_795_000_000_000 + i).toISOString() };
          return toEvent(JSON.parse(JSON.stringify({ ...(body as EventBody), ...place }))) ?? [];
        });
        const content = new TranscriptContent({ starter: STARTER, where: problem });
        for (const event of events) {
          const lines = `${JSON.stringify(event)}\n`;
          const start = content.offset;
          const offset = start + Buffer.byteLength(lines);
          const live = { turnId: "t1", text: { text: problem, thought: false } };
          void content.accept({
            lines,
            start,
            offset,
            more: false,
            end: offset,
            status: "running",
            problem,
            live,
          } as never);
          for (const page of [...content.pages(), ...content.notices()]) {
            everyForm(page);
            expect(page.key).toMatch(/^[\w.-]{1,64}$/);
          }
        }
      },
    ),
    RUNS,
  );
});

// Promise: S35
test("questions that a person has half answered", () => {
  fc.assert(
    fc.property(
      fc.array(question, { maxLength: 6 }),
      id,
      fc.array(fc.array(fc.nat({ max: 24 })), { maxLength: 4 }),
      (questions, requestId, choices) => {
        const { buttons, selects } = questionControls(questions, requestId, choices);
        expectTaken({ text: "x", buttons, selects });
      },
    ),
    RUNS,
  );
});

test("forms below what is asked", () => {
  fc.assert(
    fc.property(
      fc.array(question, { minLength: 1, maxLength: 7 }),
      hostile,
      id,
      (questions, title, requestId) => {
        const ask = {
          requestId,
          title,
          kind: "question",
          request: { type: "elicitation_request", questions },
        };
        for (const form of [answerForm(ask as never), reasonForm(ask as never, "no")]) {
          for (const { label, description } of JSON.parse(JSON.stringify(toModal(form))).components) {
            expect([label.trim(), description.trim()]).not.toContain("");
          }
        }
      },
    ),
    RUNS,
  );
});

// Promise: S35
test("what stands in the channel", () => {
  const item = fc.record({
    kind: fc.constantFrom("permission", "end", "failure"),
    threadId: fc.constantFrom(STARTER, "child-1"),
    number: fc.nat(),
    title: hostile,
    at: fc.constant("2026-11-22T10:00:00.000Z"),
    text: hostile,
    createdBy: fc.constant(`discord:${STARTER}`),
  });
  fc.assert(
    fc.property(fc.array(item, { minLength: 1, maxLength: 40 }), hostile, (items, text) => {
      const lines = items.map((one) => inboxLine(one as never));
      expectTaken({ text: fitLines(inboxHead(STARTER), lines, "more"), buttons: [] });
      const words = channelWords(aDiscordId(STARTER), text);
      if (words !== "") expectTaken({ text: words, buttons: [] });
      const thread = {
        status: "failed",
        number: 3,
        awaiting: null,
        doing: text,
        waiting: 1,
        problem: text,
        holds: null,
      };
      expectTaken({ text: channelStatus(aDiscordId(STARTER), thread as unknown as Thread), buttons: [] });
    }),
    RUNS,
  );
});
