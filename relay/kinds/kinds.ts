/** The kinds of threads that the relay serves. A new one is a line here; the compiler says what it lacks. */
import type { ThreadType } from "../../shared/api.ts";
import { agent } from "./agent.ts";
import { browser } from "./browser.ts";
import type { LiveThread, LiveThreadOptions, RelayKind } from "./kind.ts";
import { room } from "./room.ts";
import { terminal } from "./terminal.ts";

export const RELAY_KINDS: Readonly<Record<ThreadType, RelayKind>> = { terminal, agent, browser, room };

export function openThread(options: LiveThreadOptions): LiveThread {
  return RELAY_KINDS[options.thread.type].open(options);
}
