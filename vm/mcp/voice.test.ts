import { expect, test } from "vitest";
import { knownThreadId } from "../../shared/ids.ts";
import { OWNER } from "../../shared/principal.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import { openStore } from "../store/store.ts";
import { Voice, type VoiceOptions } from "./voice.ts";

test("the same words to the same address are queued once, and count as the answer to what was read since", async () => {
  const threadId = knownThreadId.parse("main");
  const channelId = aDiscordId("7");
  const store = openStore(":memory:");
  store.threads.insert({
    ...{ threadId, type: "agent", dir: ".", path: "/r", command: "", title: "t", createdBy: OWNER },
    ...{ createdAt: 5, cols: 80, rows: 24, marker: "M=1" },
  });
  store.spoken.setMain("main", threadId);
  const row = { id: channelId, mode: "main", agent: null, name: "ops" };
  const channels = { list: () => [row], find: () => row };
  const noted: { messageId: string; callId: string }[] = [];
  const voice = new Voice({
    store: { spoken: store.spoken, handles: store.handles, people: store.people, channels },
    agents: {
      foldNow: async () => ({ turn: { turnId: "t1" } }),
      note: async (_: string, event: { messageId: string; callId: string }) => void noted.push(event),
    },
    people: { may: () => true },
    now: () => 1_000,
  } as unknown as VoiceOptions);
  const [to] = voice.addressesOf(threadId);
  const said = { to: to ?? "", content: "Yes.", isSilent: false };
  const first = await voice.say(threadId, { ...said, callId: "call 1" });
  expect(await voice.say(threadId, { ...said, callId: "call 2" })).toBe(first);
  expect(store.spoken.listOpen()).toHaveLength(1);
  expect(noted.map(({ messageId, callId }) => [messageId, callId])).toEqual([
    [`m${first}`, "call 1"],
    [`m${first}`, "call 2"],
  ]);
});
