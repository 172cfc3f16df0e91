/** Threads of the real program and the loopback model that it speaks to; both are closed when a test ends. */
import { afterEach, beforeEach } from "vitest";
import {
  type AgentProgram,
  type AgentThread,
  openThreads,
  type ThreadOptions,
} from "../support/agent-threads.ts";
import { type Model, startModel } from "./model.ts";
import { claudeEnvironment, claudeProgram } from "./real.ts";

export interface RealThreads {
  /** Of the test that runs. */
  readonly model: Model;
  program(args?: string[]): AgentProgram;
  open(options?: ThreadOptions): AgentThread;
}

export function realThreads(): RealThreads {
  let model: Model;
  beforeEach(async () => {
    model = await startModel();
  });
  afterEach(() => model.close());
  const openThread = openThreads(); // its hook comes later, so it runs first
  const program = (args: string[] = []) => ({
    program: claudeProgram(),
    args,
    env: claudeEnvironment(model),
  });
  return {
    get model() {
      return model;
    },
    program,
    open: (options = {}) => openThread({ program: program(), ...options }),
  };
}
