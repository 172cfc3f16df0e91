/** The part of the fold that knows what runs in the background of the engine, and which ends its model is to be told. */
import type { BackgroundTask, ThreadFold } from "./fold-types.ts";

/** More are not kept: the oldest are not told. */
const MAX_ENDED = 20;

type Ended = NonNullable<ThreadFold["endedTasks"]>[number];

/** @param more of those that are gone */
export function tasksAfter(
  fold: ThreadFold,
  tasks: readonly BackgroundTask[],
  more: Pick<Ended, "isLost"> = {},
): Pick<ThreadFold, "backgroundTasks" | "endedTasks"> {
  const generation = fold.engine?.generation ?? 0;
  const gone = fold.backgroundTasks.filter(
    (task) => task.isTold && !tasks.some(({ taskId }) => taskId === task.taskId),
  );
  const fresh = gone.map(({ taskId, title }): Ended => ({ taskId, title, generation, ...more }));
  if (fresh.length === 0) return { backgroundTasks: [...tasks] };
  return {
    backgroundTasks: [...tasks],
    endedTasks: [...(fold.endedTasks ?? []), ...fresh].slice(-MAX_ENDED),
  };
}

/** The id of the input by which the model is told. */
export function endedTaskId({ taskId, generation }: Pick<Ended, "taskId" | "generation">): string {
  return `task-${generation}-${taskId}`;
}

export function toldOfEnd(fold: ThreadFold, messageId: string): ThreadFold {
  if (!fold.endedTasks?.some((task) => endedTaskId(task) === messageId)) return fold;
  return { ...fold, endedTasks: fold.endedTasks.filter((task) => endedTaskId(task) !== messageId) };
}
