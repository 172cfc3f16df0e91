import { expect, test } from "vitest";
import { knownThreadId } from "../../shared/ids.ts";
import { type VoiceToolsOptions, voiceTools } from "./voice-tools.ts";

test("an engine that names no calls may write to another agent", async () => {
  const sent: unknown[] = [];
  const options = {
    messages: { send: async (_: string, message: object) => ({ count: sent.push(message) }) },
    homes: { find: () => knownThreadId.parse("reader") },
    isFor: () => true,
    childEnds: { watch: () => {} },
    mayUse: async () => {},
  } as unknown as VoiceToolsOptions;
  const message = voiceTools(options).find(({ name }) => name === "message");
  const call = { threadId: knownThreadId.parse("main"), callId: undefined };
  const input = { to: "thread:#12", content: "Look at the tests." };
  await message?.run({ ...call, input, signal: new AbortController().signal } as never);
  expect(sent).toEqual([{ to: "reader", text: "Look at the tests.", callId: undefined }]);
});
