/** What people can press below messages; each action has a file of its own in `actions/`. */
import { because } from "./actions/because.ts";
import { browserClick } from "./actions/browser-click.ts";
import { browserDo } from "./actions/browser-do.ts";
import { browserOpen } from "./actions/browser-open.ts";
import { browserType } from "./actions/browser-type.ts";
import { changes } from "./actions/changes.ts";
import { choice } from "./actions/choice.ts";
import { decline } from "./actions/decline.ts";
import { diff } from "./actions/diff.ts";
import { done } from "./actions/done.ts";
import { endedHere } from "./actions/ended-here.ts";
import { endedNew } from "./actions/ended-new.ts";
import { form } from "./actions/form.ts";
import type { AnyAction, Pressed } from "./actions/frame/action.ts";
import { goOn } from "./actions/go-on.ts";
import { hereDir } from "./actions/here-dir.ts";
import { hereMode } from "./actions/here-mode.ts";
import { history } from "./actions/history.ts";
import { job } from "./actions/job.ts";
import { keepAll } from "./actions/keep-all.ts";
import { key } from "./actions/key.ts";
import { killAll } from "./actions/kill-all.ts";
import { letIn } from "./actions/let-in.ts";
import { logsGrep } from "./actions/logs-grep.ts";
import { logsView } from "./actions/logs-view.ts";
import { memoryUndo } from "./actions/memory-undo.ts";
import { outside } from "./actions/outside.ts";
import { permission } from "./actions/permission.ts";
import { pick } from "./actions/pick.ts";
import { picked } from "./actions/picked.ts";
import { resumeSend } from "./actions/resume-send.ts";
import { roomStop } from "./actions/room-stop.ts";
import { send } from "./actions/send.ts";
import { show } from "./actions/show.ts";
import { steps } from "./actions/steps.ts";
import { stepsFile } from "./actions/steps-file.ts";
import { stop } from "./actions/stop.ts";
import { typeAnyway } from "./actions/type-anyway.ts";
import { undo } from "./actions/undo.ts";
import { worktreeKeep } from "./actions/worktree-keep.ts";
import { worktreeMerge } from "./actions/worktree-merge.ts";
import { worktreeRemove } from "./actions/worktree-remove.ts";

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
