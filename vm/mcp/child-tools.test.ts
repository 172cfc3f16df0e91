import { expect, test } from "vitest";
import type { Thread } from "../../shared/api.ts";
import { knownThreadId } from "../../shared/ids.ts";
import { type ChildToolsOptions, childTools } from "./child-tools.ts";

const parent = knownThreadId.parse("parent");
const child = knownThreadId.parse("child");

/** What is done with the child, in its order; of all else there is as much as the tools need. */
function toolsThatTell(done: string[]) {
  const thread = { threadId: child, status: "idle", waiting: 0, title: "Child" } as Thread;
  const said = {
    isOpenTo: () => false,
    read: async () => {
      done.push("read");
      return { texts: [], readTo: 0, isMore: false };
    },
  };
  const options = {
    threads: { get: () => thread, saidFaceOf: () => said },
    agents: {
      readTranscript: async () => {
        done.push("read");
        return { end: 0, lines: "" };
      },
      noteChild: async () => {},
    },
    marks: {
      find: () => undefined,
      spread: async () => {
        done.push("marked");
      },
    },
    homes: { find: () => child },
    childEnds: { isFor: () => false, watch: () => {}, drop: () => {} },
    children: { checkDescendant: () => {}, checkFamily: () => {}, toldChildren: () => new Map() },
    logWatch: { listen: () => ({ wait: async () => {}, end: () => {} }) },
  };
  return childTools(options as unknown as ChildToolsOptions);
}

test.each(["read_transcript", "wait_thread"])(
  "%s marks the parent after it has read, so that what comes meanwhile is marked too",
  async (name) => {
    const done: string[] = [];
    const tool = toolsThatTell(done).find((one) => one.name === name);
    const call = { threadId: parent, callId: "1", input: { threadId: "child" } };
    // What comes after the mark is no matter here.
    await tool?.run({ ...call, signal: new AbortController().signal } as never).catch(() => {});
    expect(done).toContain("read");
    expect(done.indexOf("marked")).toBeGreaterThan(done.lastIndexOf("read"));
  },
);
