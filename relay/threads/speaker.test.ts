import { expect, test } from "vitest";
import { createLog } from "../../shared/log.ts";
import { MAX_LISTED_SPOKEN, type Spoken, type SpokenNote } from "../../shared/voice-api.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import { until } from "../../test/support/wait.ts";
import { Speaker, type SpeakerOptions } from "./speaker.ts";

test("what was queued while nobody listened is all said, in its order, however much it is", async () => {
  const count = 2 * MAX_LISTED_SPOKEN + 1;
  const rows = Array.from({ length: count }, (_, at) => ({
    ...{ id: at + 1, threadId: "main", address: "discord:#ops", channelId: aDiscordId("7") },
    ...{ replyTo: null, text: `words ${at + 1}`, files: [], isSilent: false, state: "queued" },
  })) as unknown as Spoken[];
  let open = rows;
  const said: string[] = [];
  const voice = {
    listSpoken: async () => ({ messages: open.slice(0, MAX_LISTED_SPOKEN), state: "the same", working: [] }),
    noteSpoken: async (id: number, { state }: SpokenNote) => {
      if (state === "sent") open = open.filter((row) => row.id !== id);
    },
  };
  const channel = {
    say: async (_: string, { text }: { text: string }) => void said.push(text),
    findSaid: async () => "8",
  };
  const speaker = new Speaker({
    vm: { voice },
    typist: { show: () => undefined },
    channels: { find: () => ({ channel, problem: null }) },
    ...{ log: createLog("relay", "silent"), signal: new AbortController().signal },
  } as unknown as SpeakerOptions);
  speaker.poke();
  await until("all to be said", () => said.length >= count);
  expect(said).toEqual(rows.map(({ text }) => text));
});
