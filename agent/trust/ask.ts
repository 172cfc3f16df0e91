/** The trust question: may an engine load what a directory brings? Pure. */

import type { EventBody } from "../../shared/agent/events.ts";
import { TRUST_OPTION } from "../../shared/agent/trust.ts";
import { cutInput } from "../core/cut-input.ts";
import { type Brought, countItems } from "./brought.ts";
import { visibleStart } from "./visible.ts";

/** All that is shown: what does not fit can't be trusted. Less than a transcript keeps of a text. */
const MAX_SHOWN_BYTES = 512 * 1024;
const MAX_INPUT_ITEMS = 40;
const MAX_INPUT_ITEM = 200;
const MAX_PATH = 200;

export function trustAsk(
  { dir, key, items, isWhole: isLookedAt, names, isNeeded }: Brought,
  requestId: string,
): EventBody<"permission_request"> {
  const path = visibleStart(dir, MAX_PATH);
  const { lines, left } = shownOf(items);
  const isWhole = isLookedAt && left === 0;
  if (left > 0) lines.push(`- … and ${left} more, which are too long to be shown`);
  if (!isWhole) lines.push("It is too much to be looked at as a whole, so it can't be trusted here.");
  const rest = isNeeded
    ? "The agent reads them by itself: it can't be run without them."
    : `"Run without them" also leaves out the directory's ${names.memory}.`;
  const trust = { optionId: TRUST_OPTION, name: "Trust", kind: "allow_always" as const };
  const brings = items.slice(0, MAX_INPUT_ITEMS).map(({ text }) => text.slice(0, MAX_INPUT_ITEM));
  return {
    type: "permission_request",
    requestId,
    toolCallId: "",
    toolName: "Trust",
    callKey: key,
    input: cutInput({ dir: path, brings }),
    options: [
      ...(isWhole ? [trust] : []),
      {
        optionId: "without",
        name: isNeeded ? "Do not run it here" : "Run without them",
        kind: "reject_always",
      },
    ],
    title: `Trust ${path}? It brings ${countItems(items, names)}`,
    description: [...lines, rest].join("\n"),
    trust: true,
  };
}

function shownOf(items: Brought["items"]): { lines: string[]; left: number } {
  const lines: string[] = [];
  let room = MAX_SHOWN_BYTES;
  for (const { text } of items) {
    room -= Buffer.byteLength(text) + 3;
    if (room < 0) break;
    lines.push(`- ${text}`);
  }
  return { lines, left: items.length - lines.length };
}

/**
 * Said when an engine starts without what its directory brings, for the first time in the thread.
 * @param isNotSetUp its worktree has a setup, which would run what the repository brings
 */
export function withoutNotice({ items, names, isNeeded }: Brought, isNotSetUp: boolean): EventBody<"notice"> {
  if (isNeeded) {
    const title = "The agent is not run here: nobody trusts what the directory brings";
    return { type: "notice", severity: "info", title, description: countItems(items, names) };
  }
  return {
    type: "notice",
    severity: "info",
    title: "The agent runs without what the directory brings",
    description: `${countItems(items, names)}; its ${names.memory} is left out too.${isNotSetUp ? " Its worktree is not set up: WORKTREE_SETUP would run scripts of the repository." : ""}`,
  };
}
