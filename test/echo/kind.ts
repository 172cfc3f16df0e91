/** A kind of thread that is not ours: it says again what is said to it. All that the sides have to know of it is in this folder. */
import { appendFileSync } from "node:fs";
import type { CliKind } from "../../cli/kinds/kind.ts";
import { terminal as cliTerminal } from "../../cli/kinds/terminal.ts";
import type { RelayKind } from "../../relay/kinds/kind.ts";
import { openAsLog, terminal as relayTerminal } from "../../relay/kinds/terminal.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { KindFacts } from "../../shared/kinds.ts";
import { type Input, type Kind, NO_AGENT } from "../../vm/threads/kinds/kind.ts";
import type { GuestKind } from "../../vm/threads/kinds/kinds.ts";

export const ECHO: KindFacts = {
  name: "an echo",
  many: "echoes",
  icon: "🦜",
  begins: "echoes",
  hasTurns: false,
  hasExitCode: false,
};

/** It has no program: the sidecar writes what is said into the thread's log. */
export const guest: GuestKind = {
  facts: ECHO,
  make: ({ store, files }): Kind => {
    const say = (threadId: ThreadId, text: string) => {
      appendFileSync(files.logs.path(threadId), `${text}\r\n`);
      store.threads.update(threadId, {}); // its readers are told
    };
    return {
      checkCreation: ({ command }) => {
        if (command === "nothing")
          throw new AppError("invalid_request", "command: an echo begins with words.");
      },
      checkRoom: () => {},
      store: (thread) => store.threads.insert(thread),
      open: async ({ threadId, command }) => {
        store.threads.update(threadId, { status: "idle", isMade: true });
        say(threadId, command);
      },
      hasTaken: async ({ threadId }, inputId) => store.inputs.find(threadId, inputId) !== undefined,
      takeInput: async ({ threadId }, input: Input) => {
        if (!("text" in input)) throw new AppError("invalid_request", "key: an echo takes text.");
        if (input.inputId !== undefined) store.inputs.set(threadId, input.inputId, "sent");
        say(threadId, `you said ${input.text}`);
        return { isHidden: false };
      },
      asksForPaste: async () => false,
      whyNoInput: () => "It echoes nothing any more.",
      findEnd: () => undefined,
      takeEnd: async () => {},
      isOutOfStep: () => false,
      reconcile: async () => {},
      describe: () => NO_AGENT,
      diskBytes: async () => 0,
      takeKill: async () => {},
      remove: () => {},
    };
  },
};

export const relayEcho: RelayKind = {
  ...relayTerminal,
  type: "echo",
  facts: ECHO,
  open: (options) => openAsLog(relayEcho, options),
  inputsOf: async (_message, { texts }) => texts.map((text) => ({ text })),
};

export const cliEcho: CliKind = {
  ...cliTerminal,
  asks: "words",
  send: async (client, threadId, { text }) => {
    await client.sendInput(threadId, { text: text ?? "" });
    return 1;
  },
};
