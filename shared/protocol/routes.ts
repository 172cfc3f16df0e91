/** All routes of the sidecar's API, by noun. */
import { agents } from "./agents.ts";
import { asks } from "./asks.ts";
import { attachments } from "./attachments.ts";
import { browsers } from "./browsers.ts";
import { channels } from "./channels.ts";
import { controls } from "./controls.ts";
import { conversations } from "./conversations.ts";
import { directives } from "./directives.ts";
import { engines } from "./engines.ts";
import { inputs } from "./inputs.ts";
import { jobs } from "./jobs.ts";
import { ledger } from "./ledger.ts";
import { logs } from "./logs.ts";
import { memory } from "./memory.ts";
import { output } from "./output.ts";
import { people } from "./people.ts";
import { rooms } from "./rooms.ts";
import type { Route } from "./route.ts";
import { sidecar } from "./sidecar.ts";
import { threads } from "./threads.ts";
import { voice } from "./voice.ts";

export const API = {
  ...{ threads, logs, inputs, output, agents, asks, controls, attachments, browsers },
  ...{ engines, ledger, people, channels, conversations, directives, jobs, memory, voice, rooms, sidecar },
};

export const ROUTES: readonly Route[] = Object.values(API).flatMap((noun): Route[] => Object.values(noun));
