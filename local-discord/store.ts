/** The state file: the world as JSON, written whole to a temporary file and renamed, readable by its owner only. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import * as z from "zod";
import { writeWhole } from "../shared/whole-file.ts";
import type { World, WorldData } from "./state.ts";

const DEBOUNCE_MS = 500;
const VERSION = 1;

const record = z.record(z.string(), z.unknown());
const entries = z.array(z.tuple([z.string(), record]));

/** The outside is checked; the records inside were written by this program. */
const fileSchema = z.object({
  version: z.literal(VERSION),
  botToken: z.string(),
  applicationId: z.string(),
  guildId: z.string(),
  guildName: z.string(),
  ownerId: z.string(),
  channelId: z.string(),
  youId: z.string(),
  lastId: z.string(),
  users: entries,
  members: entries,
  roles: entries,
  channels: entries,
  commands: entries,
  nonces: entries,
  messages: z.array(z.tuple([z.string(), entries])),
});

/** @throws Error naming the file when it is there but cannot be read */
export function loadWorldData(path: string): WorldData | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const { version: _, messages, ...data } = fileSchema.parse(JSON.parse(readFileSync(path, "utf8")));
    const maps = Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Array.isArray(value) ? new Map(value) : value]),
    );
    return {
      ...maps,
      messages: new Map(messages.map(([id, list]) => [id, new Map(list)])),
    } as unknown as WorldData;
  } catch (cause) {
    throw new Error(`${path} is no state file of local Discord; move it away to start anew`, { cause });
  }
}

export function saveWorldData(path: string, data: WorldData): void {
  const plain = Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, value instanceof Map ? [...value] : value]),
  );
  const messages = [...data.messages].map(([id, list]) => [id, [...list]]);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeWhole(path, JSON.stringify({ version: VERSION, ...plain, messages }), { isDurable: true });
}

/** Saves at most every half second while something changes. `close` saves what is left. */
export class Saver {
  readonly #path: string;
  readonly #world: World;
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string, world: World) {
    this.#path = path;
    this.#world = world;
    this.#unsubscribe = world.onChange(() => {
      this.#timer ??= setTimeout(() => this.#save(), DEBOUNCE_MS);
    });
    this.#save();
  }

  close(): void {
    this.#unsubscribe();
    this.#save();
  }

  #save(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    saveWorldData(this.#path, this.#world.data);
  }
}
