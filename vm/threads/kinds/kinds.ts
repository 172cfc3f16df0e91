/** The kinds of threads: the one place that tells them apart. */
import type { ThreadType } from "../../../shared/api.ts";
import { AgentKind, type AgentKindOptions } from "./agent.ts";
import type { Kind } from "./kind.ts";
import { TerminalKind, type TerminalKindOptions } from "./terminal.ts";

export type Kinds = Readonly<Record<ThreadType, Kind>>;

export function createKinds(options: AgentKindOptions & TerminalKindOptions): Kinds {
  return { terminal: new TerminalKind(options), agent: new AgentKind(options) };
}
