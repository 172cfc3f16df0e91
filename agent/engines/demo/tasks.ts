/** Commands in the background: they outlive their turn, and their end starts one. */
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Output } from "./output.ts";
import type { Call } from "./script.ts";
import { endGroup, type Outcome, startCommand } from "./tools.ts";

interface Task {
  task_id: string;
  run_id: string;
  tool_use_id: string;
  description: string;
  file: string;
  pid: number | undefined;
  /** Set if it was told to end; called when it has. */
  onStopped: (() => void) | undefined;
}

/** What the model is told of a task's end. */
export interface Notification {
  text: string;
  runId: string;
}

const LONG_MS = 3_000;

export class Tasks {
  readonly #output: Output;
  readonly #cwd: string;
  readonly #folder: string;
  readonly #onEnd: (notification: Notification) => void;
  readonly #tasks = new Map<string, Task>();

  /** `folder` takes the tasks' output. */
  constructor(output: Output, cwd: string, folder: string, onEnd: (notification: Notification) => void) {
    this.#output = output;
    this.#cwd = cwd;
    this.#folder = folder;
    this.#onEnd = onEnd;
  }

  start(call: Call, tool_use_id: string): Outcome {
    const task_id = `b${randomBytes(4).toString("hex")}`;
    const run_id = randomBytes(8).toString("hex");
    const file = join(this.#folder, `${task_id}.output`);
    mkdirSync(dirname(file), { recursive: true });
    const command = String(call.input["command"]);
    const output = openSync(file, "a");
    const child = startCommand(command, this.#cwd, output);
    closeSync(output);
    const description = String(call.input["description"] ?? command);
    const task: Task = {
      task_id,
      run_id,
      tool_use_id,
      description,
      file,
      pid: child.pid,
      onStopped: undefined,
    };
    this.#tasks.set(task_id, task);
    child.once("exit", (code) => this.#ended(task, code));
    this.#printAll();
    const fields = {
      task_id,
      run_id,
      tool_use_id,
      description,
      is_backgrounded: true,
      task_type: "local_bash",
    };
    this.#output.system("task_started", fields);
    return {
      content: `Command running in background with ID: ${task_id}. Output is being written to: ${file}. You will be notified when it completes. To check interim output, use Read on that file path.`,
      isError: false,
      result: {
        stdout: "",
        stderr: "",
        interrupted: false,
        isImage: false,
        noOutputExpected: false,
        backgroundTaskId: task_id,
      },
    };
  }

  /** A command that its turn waits for is told of as a task too, once it takes long. @returns what ends that. */
  watch(call: Call, tool_use_id: string): () => void {
    const task_id = `b${randomBytes(4).toString("hex")}`;
    const run_id = randomBytes(8).toString("hex");
    const description = String(call.input["description"] ?? call.input["command"]);
    const fields = {
      task_id,
      run_id,
      tool_use_id,
      description,
      is_backgrounded: false,
      task_type: "local_bash",
    };
    let isTold = false;
    const timer = setTimeout(() => {
      isTold = true;
      this.#output.system("task_started", fields);
    }, LONG_MS);
    return () => {
      clearTimeout(timer);
      if (!isTold) return;
      const end = {
        task_id,
        run_id,
        tool_use_id,
        status: "completed",
        output_file: "",
        summary: description,
      };
      this.#output.system("task_notification", end);
    };
  }

  /** False if there is no such task. */
  stop(taskId: string, onStopped: () => void): boolean {
    const task = this.#tasks.get(taskId);
    if (!task) return false;
    task.onStopped = onStopped;
    endGroup(task.pid, "SIGKILL");
    return true;
  }

  /** Ends them all without a word, since the program ends. */
  close(): void {
    for (const { pid } of this.#tasks.values()) endGroup(pid, "SIGKILL");
  }

  #ended(task: Task, code: number | null): void {
    const { task_id, run_id, tool_use_id, description, file, onStopped } = task;
    this.#tasks.delete(task_id);
    const status = onStopped ? "killed" : code === 0 ? "completed" : "failed";
    this.#output.system("task_updated", { task_id, run_id, patch: { status, end_time: Date.now() } });
    const summary = onStopped
      ? description
      : `Background command "${description}" ${status} (exit code ${code})`;
    this.#output.system("task_notification", {
      task_id,
      run_id,
      tool_use_id,
      status: onStopped ? "stopped" : status,
      output_file: file,
      summary,
    });
    this.#printAll();
    // The one who stopped it knows.
    if (onStopped) onStopped();
    else this.#onEnd({ text: summary, runId: run_id });
  }

  #printAll(): void {
    const tasks = [...this.#tasks.values()].map(({ task_id, run_id, description }) => ({
      task_id,
      run_id,
      task_type: "local_bash",
      description,
    }));
    this.#output.system("background_tasks_changed", { tasks });
  }
}
