/** In which mode a child works: its parent's, as that works now, or a narrower one. */
import { findEngine } from "../../shared/agent/engines/engines.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { AgentFolders } from "../agents/folders.ts";
import type { Store } from "../store/store.ts";

export interface ChildModeOptions {
  store: Store;
  folders: AgentFolders;
}

/** @throws AppError in words for the model if the parent's engine has no such mode, or it is a wider one */
export function modeOfChild(
  options: ChildModeOptions,
  parentId: ThreadId,
  wanted: string | undefined,
): { permissionMode?: string } {
  const names = modesOf(options, parentId)?.names;
  if (!names) {
    if (wanted === undefined) return {};
    throw new AppError("unsupported", "permissionMode: this thread's engine has no modes.");
  }
  const own = ownMode(options, parentId);
  const mode = wanted ?? own;
  const [rank, most] = [names.indexOf(mode), names.indexOf(own)];
  if (rank < 0) throw new AppError("invalid_request", `permissionMode: one of ${names.join(", ")}.`);
  if (rank > Math.max(0, most)) {
    throw new AppError(
      "unsupported",
      `permissionMode: a child may do no more than its parent, which works in ${own}.`,
    );
  }
  return { permissionMode: mode };
}

/** Whether a thread's mode is wider than that of another one with the same engine. */
export function isWider(options: ChildModeOptions, threadId: ThreadId, otherId: ThreadId): boolean {
  const names: readonly string[] = modesOf(options, threadId)?.names ?? [];
  return names.indexOf(ownMode(options, threadId)) > names.indexOf(ownMode(options, otherId));
}

function ownMode(options: ChildModeOptions, threadId: ThreadId): string {
  const { store, folders } = options;
  const fold = store.agents.find(threadId)?.fold;
  const configured = folders.findConfig(threadId)?.agent.permissionMode;
  const asking = modesOf(options, threadId)?.asking ?? "";
  return fold?.chosen.modeId ?? configured ?? fold?.chosen.most ?? asking;
}

function modesOf({ folders }: ChildModeOptions, threadId: ThreadId) {
  return findEngine(folders.engineOf(threadId))?.capabilities.modes;
}
