/** The slash commands; each has a file of its own in `commands/`. */
import { agent } from "./commands/agent.ts";
import { browser } from "./commands/browser.ts";
import type { Command } from "./commands/command.ts";
import { done } from "./commands/done.ts";
import { exported } from "./commands/export.ts";
import { here } from "./commands/here.ts";
import { inbox } from "./commands/inbox.ts";
import { job } from "./commands/job.ts";
import { key } from "./commands/key.ts";
import { kill } from "./commands/kill.ts";
import { logs } from "./commands/logs.ts";
import { main } from "./commands/main.ts";
import { memory } from "./commands/memory.ts";
import { queue } from "./commands/queue.ts";
import { resize } from "./commands/resize.ts";
import { room } from "./commands/room.ts";
import { screenshot } from "./commands/screenshot.ts";
import { status } from "./commands/status.ts";
import { terminal } from "./commands/terminal.ts";
import { thoughts } from "./commands/thoughts.ts";
import { thread } from "./commands/thread.ts";

export const COMMANDS = new Map<string, Command>(
  [
    terminal,
    logs,
    browser,
    agent,
    room,
    done,
    kill,
    status,
    key,
    queue,
    resize,
    screenshot,
    exported,
    thread,
    thoughts,
    main,
    inbox,
    here,
    job,
    memory,
  ].map((command) => [command.definition.name, command]),
);
