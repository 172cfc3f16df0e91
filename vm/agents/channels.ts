/** The channels that the relay serves: what people set of each is judged here. */
import { agentConfigSchema } from "../../shared/agent/config.ts";
import { isOpen } from "../../shared/api.ts";
import {
  agentOf,
  type ChannelPlace,
  type ChannelRequest,
  type ChannelRow,
  type ChannelSettings,
  type FixedChannel,
  MAX_CHANNELS,
} from "../../shared/channel-api.ts";
import { AppError } from "../../shared/errors.ts";
import { type DiscordId, discordIdSchema } from "../../shared/ids.ts";
import type { Principal } from "../../shared/principal.ts";
import type { People } from "../callers/people.ts";
import type { Directives } from "../directives/directives.ts";
import type { Store } from "../store/store.ts";
import { resolveDirectory } from "../threads/directory.ts";
import type { UserSpace } from "../threads/user-space.ts";
import { chooseLaunch, type LaunchOptions } from "./launch.ts";
import { refuseUnsupported } from "./support.ts";

export interface ChannelsOptions {
  store: Store;
  /** A real path. */
  reposDir: string;
  userSpace: Pick<UserSpace, "root">;
  /** The settings of the sidecar's agents. */
  settings: LaunchOptions;
  directives: Pick<Directives, "list">;
  people: Pick<People, "judge">;
}

/** The most directives that a refusal names. */
const MAX_NAMED = 10;

const NEW: ChannelSettings = {
  ...{ dir: ".", mode: "off", engine: null, model: null, permissionMode: null, limits: {} },
  ...{ directive: null, worktree: false, agent: null },
};

export class Channels {
  readonly #options: ChannelsOptions;

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  /** The first one first. */
  list(): ChannelRow[] {
    return this.#options.store.channels.list();
  }

  listAll(): { channels: ChannelRow[]; state: string } {
    return { channels: this.list(), state: this.#options.store.channels.revision };
  }

  replaceFixed(fixed: readonly FixedChannel[]): void {
    this.#options.store.channels.replaceFixed(fixed);
  }

  /**
   * Serves a channel, or changes its settings.
   * @throws AppError `invalid_request`, `channel_fixed`, `invalid_directory`, `unsupported` naming a field that its engine or
   *   its mode can't do, `not_found` if its directory has no such directive,
   *   `forbidden` if its agent hears a channel in which they may not write
   */
  async set(
    channelId: DiscordId,
    { dir, limits: changes, ...request }: ChannelRequest,
    by: Principal,
  ): Promise<ChannelRow> {
    const { store, reposDir, userSpace } = this.#options;
    const { error } = discordIdSchema.safeParse(channelId);
    if (error) throw new AppError("invalid_request", `channelId: ${error.issues[0]?.message}`);
    const place =
      dir === undefined
        ? {}
        : { dir: (await resolveDirectory(reposDir, dir, undefined, userSpace.root)).dir };
    await this.#refuseUnknown(this.#find(channelId), { ...place, directive: request.directive });
    // From here on nothing waits: of two who change other fields at once, both count.
    const known = this.#refuseFixed(channelId);
    if (!known && this.list().length >= MAX_CHANNELS)
      throw new AppError("invalid_request", `channel: ${MAX_CHANNELS} are served; remove one before.`);
    const before = settingsOf(known);
    const limits = withChanges(before.limits, changes);
    const settings: ChannelSettings = { ...before, ...definedOf(request), ...place, limits };
    refuseForMain(settings);
    this.#refuseUnsupported(settings);
    this.#refuseSecond(known, settings);
    const name = agentOf(settings);
    if (known?.mode !== "main" && name !== undefined) {
      this.#refuseStranger(channelId, name, by);
      this.#forgetEnded(name);
    }
    store.channels.put(channelId, settings);
    return this.#get(channelId);
  }

  /** An agent that was ended hears no channel any more: another one of its name may. */
  #forgetEnded(name: string): void {
    const { store } = this.#options;
    const threadId = store.spoken.findMain(name);
    const thread = threadId === undefined ? undefined : store.threads.find(threadId);
    if (thread && !isOpen(thread.status)) store.spoken.forgetMain(name);
  }

  /** One agent hears a channel: another one would miss what was said before, and both would answer. */
  #refuseSecond(known: ChannelRow | undefined, settings: ChannelSettings): void {
    const { store } = this.#options;
    const before = known && agentOf(known);
    const after = agentOf(settings);
    if (before === undefined || after === undefined || after === before) return;
    const threadId = store.spoken.findMain(before);
    const number = threadId === undefined ? undefined : store.agents.find(threadId)?.number;
    const called = number === undefined ? before : `${before} (#${number})`;
    throw new AppError(
      "unsupported",
      `agent: ${called} hears this channel; set another mode first, if another agent is to hear it.`,
    );
  }

  /**
   * Who writes in one channel of an agent can learn what was said in its others, so whoever joins a channel to them must be
   * able to write in each.
   */
  #refuseStranger(channelId: DiscordId, name: string, by: Principal): void {
    const heard = this.list().filter((row) => row.id !== channelId && agentOf(row) === name);
    for (const { id } of heard)
      try {
        this.#options.people.judge(by, "type", id);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        const why = `agent: ${name} hears <#${id}> too, and whoever writes here could learn what is said there.`;
        throw new AppError(error.code, `${why} ${error.message}`, { cause: error });
      }
  }

  #find(channelId: DiscordId): ChannelRow | undefined {
    return this.#options.store.channels.find(channelId);
  }

  /** The directory must have the directive, whichever of the two is another one now. */
  async #refuseUnknown(
    known: ChannelRow | undefined,
    request: { dir?: string; directive: string | null | undefined },
  ): Promise<void> {
    if (request.dir === undefined && request.directive === undefined) return;
    const dir = request.dir ?? known?.dir ?? NEW.dir;
    const directive = request.directive === undefined ? known?.directive : request.directive;
    if (directive == null) return;
    const { directives } = await this.#options.directives.list({ dir });
    const names = directives.map(({ as }) => as);
    if (names.includes(directive)) return;
    const others = names.length === 0 ? "" : `; it has ${names.slice(0, MAX_NAMED).join(", ")}`;
    throw new AppError("not_found", `directive: the directory ${dir} has none called ${directive}${others}.`);
  }

  /** @throws AppError `not_found` */
  putPlace(channelId: DiscordId, place: ChannelPlace): void {
    this.#get(channelId);
    this.#options.store.channels.putPlace(channelId, place);
  }

  /** @throws AppError `not_found`, `channel_fixed` */
  remove(channelId: DiscordId): void {
    this.#get(channelId);
    this.#refuseFixed(channelId);
    this.#options.store.channels.remove(channelId);
  }

  #get(channelId: DiscordId): ChannelRow {
    const known = this.#find(channelId);
    if (known) return known;
    throw new AppError("not_found", `channel: ${channelId} is none that is served.`);
  }

  #refuseFixed(channelId: DiscordId): ChannelRow | undefined {
    const known = this.#find(channelId);
    if (!known?.isFixed) return known;
    throw new AppError(
      "channel_fixed",
      "channel: the relay's own settings (DISCORD_CHANNEL_ID, CHANNEL_MODE, CHANNEL_DIR) name it; change it there, and restart the relay.",
    );
  }

  #refuseUnsupported({ mode, engine, model, permissionMode, limits }: ChannelSettings): void {
    const { settings } = this.#options;
    const voice = mode === "main" ? { voice: "message" } : {};
    const agent = agentConfigSchema.parse({ ...chosenOf({ model, permissionMode }), ...voice, limits });
    const chosen = engine === null ? {} : { engine: agentConfigSchema.shape.engine.parse(engine) };
    // Only the engine is asked for, so it does not matter where its program lies.
    refuseUnsupported(agent, chooseLaunch(chosen, settings, "").engine, settings, "");
  }
}

/** A channel's one agent is made by no directive, and works in the channel's directory itself. */
function refuseForMain({ mode, worktree, directive }: ChannelSettings): void {
  if (mode !== "main") return;
  if (worktree)
    throw new AppError(
      "unsupported",
      "worktree: the one agent that hears a channel works in the channel's directory; set worktree to false, or another mode.",
    );
  if (directive !== null)
    throw new AppError(
      "unsupported",
      `directive: the one agent that hears a channel is made by none; take ${directive} back, or set another mode.`,
    );
}

function settingsOf(row: ChannelRow | undefined): ChannelSettings {
  if (!row) return NEW;
  const { dir, mode, engine, model, permissionMode, directive, limits, worktree, agent } = row;
  return { dir, mode, engine, model, permissionMode, directive, limits, worktree, agent };
}

function withChanges(
  limits: ChannelSettings["limits"],
  changes: ChannelRequest["limits"] = {},
): ChannelSettings["limits"] {
  return chosenOf({ ...limits, ...definedOf(changes) });
}

/** The fields that are named. */
function definedOf<T extends object>(fields: T) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]: Exclude<T[Name], undefined>;
  };
}

/** The fields that somebody has chosen. */
function chosenOf<T extends object>(fields: T) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [Name in keyof T]?: Exclude<T[Name], null>;
  };
}
