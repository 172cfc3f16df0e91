/** The engine `own` when a conversation reaches `params.maxInputTokens`: it is made shorter unasked. */
import { describe, expect, test } from "vitest";
import type { Model } from "../agents/model.ts";
import { type AgentThread, openThreads, says } from "../support/agent-threads.ts";
import { envOf, modelOfFile, ownOptions, WIRES } from "../support/own-agent.ts";

const openThread = openThreads();
const model = modelOfFile();

const updates = (thread: AgentThread) =>
  thread.of("compaction_update").map(({ status, trigger }) => [status, trigger]);
const isSummary = ({ messages }: Model["requests"][number]) =>
  JSON.stringify(messages.at(-1)).includes("Summarise this conversation");

describe.each(WIRES)("over the wire format of %s", (wire) => {
  const open = () =>
    openThread(ownOptions(envOf(wire, model.url), { agent: { params: { maxInputTokens: 1_000 } } }));
  /** One turn, after which the model says that it has read so many tokens. */
  const turn = async (thread: AgentThread, count: number, words: string, inputTokens: number) => {
    thread.write(says(words, { text: `An answer. ${"word ".repeat(200)}`, inputTokens, outputTokens: 1 }));
    if (!thread.runner) thread.start();
    await thread.event("turn_end", count);
  };

  test("the next request begins with the summary; the newest message stays, and nothing is summed up again", async () => {
    const thread = open();
    await turn(thread, 1, "first words", 900);
    expect(updates(thread)).toEqual([]);
    await turn(thread, 2, "second words", 1_001);
    expect(updates(thread)).toEqual([]);
    await turn(thread, 3, "third words", 300);
    expect(updates(thread)).toEqual([
      ["in_progress", "auto"],
      ["completed", "auto"],
    ]);
    const heard = ["first words", "<summary>", "second words", "third words"];
    expect(heard.map((text) => model.timesInContext(text))).toEqual([0, 2, 0, 1]);
    await turn(thread, 4, "fourth words", 400);
    expect(model.requests.filter(isSummary)).toHaveLength(1);
  });

  test("one that would hardly get shorter is not asked about, nor tried again before more was said", async () => {
    const thread = open();
    await turn(thread, 1, "first words", 1_001);
    const long = "a long message ".repeat(400);
    await turn(thread, 2, long, 2_000);
    expect(updates(thread)).toEqual([
      ["in_progress", "auto"],
      ["failed", "auto"],
    ]);
    await turn(thread, 3, long, 2_000); // two more items
    expect(updates(thread)).toHaveLength(2);
    await turn(thread, 4, "short", 2_000);
    expect(updates(thread).slice(2)).toEqual([
      ["in_progress", "auto"],
      ["completed", "auto"],
    ]);
    expect(model.requests.filter(isSummary)).toHaveLength(1);
  });
});
