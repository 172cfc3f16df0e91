/** An agent's permission requests as asks of ours, with its own options. Pure. */
import { cleanLine } from "../../../shared/clean-text.ts";
import type { KnownAgent } from "./known.ts";
import type { AcpPermission } from "./messages.ts";
import type { Said } from "./protocol.ts";
import { nameOf } from "./updates.ts";

type Kind = AcpPermission["options"][number]["kind"];

export interface AskOptions {
  /** As people see them. */
  shown: Said<"ask">["options"];
  /** Our id of an option → the agent's; null: it is told that nobody answers. */
  ids: ReadonlyMap<string, string | null>;
}

const MAX_OPTIONS = 10;
const MAX_NAME = 80;
/** In the names of options as in those of every engine. */
const IDS: Record<Kind, string> = {
  allow_once: "once",
  allow_always: "always",
  reject_once: "no",
  reject_always: "never",
};
const NAMES: Record<Kind, string> = {
  allow_once: "Allow once",
  allow_always: "Always allow",
  reject_once: "Deny",
  reject_always: "Always deny",
};

/** Undefined if the agent offers nothing that could be chosen. */
export function optionsOf({ options }: AcpPermission): AskOptions | undefined {
  if (options.length === 0) return undefined;
  const shown: AskOptions["shown"] = [];
  const ids = new Map<string, string | null>();
  for (const { optionId, name, kind } of options.slice(0, MAX_OPTIONS)) {
    const number = shown.filter((other) => other.kind === kind).length + 1;
    const id = number === 1 ? IDS[kind] : `${IDS[kind]}${number}`;
    const clean = cleanLine(name).trim().slice(0, MAX_NAME);
    shown.push({ optionId: id, name: clean || NAMES[kind], kind });
    ids.set(id, optionId);
  }
  // A person can always say no.
  if (!shown.some(({ kind }) => kind.startsWith("reject"))) {
    shown.push({ optionId: IDS.reject_once, name: NAMES.reject_once, kind: "reject_once" });
    ids.set(IDS.reject_once, null);
  }
  return { shown, ids };
}

/**
 * The agent's option that lets a call of the thread's own tools run without a person; undefined if the call is another
 * one. A title that the model may have written says nothing.
 * @param allowed such as `mcp__threadmux`
 */
export function letsOwnTool(
  { toolCall, options }: AcpPermission,
  allowed: readonly string[],
  known: KnownAgent | undefined,
): string | undefined {
  const name = nameOf(toolCall);
  const isAllowed = (own: string) => allowed.some((tool) => own === tool || own.startsWith(`${tool}__`));
  const isOther = ["execute", "edit", "delete", "move", "read"].includes(toolCall.kind ?? "");
  const [, server, tool] = (!isOther && known?.ownTool?.exec(toolCall.title ?? "")) || [];
  const isTitled = tool !== undefined && isAllowed(`mcp__${server}__${tool}`);
  if (!isAllowed(name) && !isTitled) return undefined;
  return options.find(({ kind }) => kind === "allow_once")?.optionId;
}
