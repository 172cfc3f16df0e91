/** What people can press below messages; each action has a file of its own in `actions/`. */
import { because } from "./because.ts";
import { browserClick } from "./browser-click.ts";
import { browserDo } from "./browser-do.ts";
import { browserOpen } from "./browser-open.ts";
import { browserType } from "./browser-type.ts";
import { changes } from "./changes.ts";
import { choice } from "./choice.ts";
import { decline } from "./decline.ts";
import { diff } from "./diff.ts";
import { done } from "./done.ts";
import { endedHere } from "./ended-here.ts";
import { endedNew } from "./ended-new.ts";
import { form } from "./form.ts";
import type { AnyAction, Pressed } from "./frame/action.ts";
import { goOn } from "./go-on.ts";
import { hereDir } from "./here-dir.ts";
import { hereMode } from "./here-mode.ts";
import { history } from "./history.ts";
import { job } from "./job.ts";
import { keepAll } from "./keep-all.ts";
import { key } from "./key.ts";
import { killAll } from "./kill-all.ts";
import { letIn } from "./let-in.ts";
import { logsGrep } from "./logs-grep.ts";
import { logsView } from "./logs-view.ts";
import { memoryUndo } from "./memory-undo.ts";
import { outside } from "./outside.ts";
import { permission } from "./permission.ts";
import { pick } from "./pick.ts";
import { picked } from "./picked.ts";
import { resumeSend } from "./resume-send.ts";
import { roomStop } from "./room-stop.ts";
import { send } from "./send.ts";
import { show } from "./show.ts";
import { steps } from "./steps.ts";
import { stepsFile } from "./steps-file.ts";
import { stop } from "./stop.ts";
import { typeAnyway } from "./type-anyway.ts";
import { undo } from "./undo.ts";
import { worktreeKeep } from "./worktree-keep.ts";
import { worktreeMerge } from "./worktree-merge.ts";
import { worktreeRemove } from "./worktree-remove.ts";

export const ACTIONS: ReadonlyMap<string, AnyAction> = new Map(
  [
    ...[key, logsView, logsGrep, done, send, typeAnyway, resumeSend, endedHere, endedNew],
    roomStop,
    ...[browserClick, browserType, browserOpen, browserDo],
    ...[permission, because, choice, pick, picked, form, decline, show],
    ...[stop, goOn, undo, changes, diff, history, steps, stepsFile],
    ...[
      killAll,
      keepAll,
      worktreeMerge,
      worktreeRemove,
      worktreeKeep,
      job,
      outside,
      hereDir,
      hereMode,
      memoryUndo,
      letIn,
    ],
  ].map((action) => [action.name, action]),
);

/** Undefined if the id is none that this version makes. */
export function readPressed(id: string): Pressed | undefined {
  return ACTIONS.get(id.split(":", 1)[0] ?? "")?.read(id);
}
