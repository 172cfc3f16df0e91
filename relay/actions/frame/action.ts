/**
 * What people press, choose from and fill in below messages: one action a file, in the folder above. All that it means
 * is in its id, so that it works after any restart.
 *
 * The content makes buttons, and stands below the rooms that do what they mean. So an action knows Discord and those
 * rooms by the two interfaces {@link Press} and {@link ActionContext} alone.
 */
import type { ChannelRequest } from "../../../shared/channel-api.ts";
import type { DiscordId, ThreadName } from "../../../shared/ids.ts";
import type { Log } from "../../../shared/log.ts";
import type { Right } from "../../../shared/rights.ts";
import type { Vm } from "../../sidecar/vm.ts";
import type { Button, Filled, Form, Reply, Select } from "./controls.ts";
import type { Part } from "./parts.ts";

/** Discord's limit of an id. */
const MAX_ID_UNITS = 100;

/**
 * What Discord hears within 3 s: `update` leaves the message as it is for now, `reply` and `private reply` begin an
 * answer, which only the person sees if it is private. `form` opens a form, which is the first answer itself.
 */
export type FirstAnswer = "update" | "reply" | "private reply" | "form";

/** A button that was pressed, or a list from which was chosen. */
export interface Press {
  readonly userId: string;
  /** Discord's id of the thread, or the channel, that it was pressed in. */
  readonly threadId: DiscordId;
  /** Indexes of what was chosen from a list; empty if it was a button. */
  readonly chosen: readonly number[];
  /** Fills the answer that was begun; after `update` it changes the message itself. */
  show(reply: Reply): Promise<void>;
  /** Says it in a message of its own, which notifies nobody. */
  say(text: string): Promise<void>;
  /** Opens a form; only if the first answer is `form`. */
  open(form: Form): Promise<void>;
}

/** What an action may use of the relay. */
export interface ActionContext {
  /** In the name of the person who pressed. */
  vm: Vm;
  threads: {
    has(threadId: ThreadName): boolean;
    find(
      threadId: ThreadName,
    ): { readonly threadId: DiscordId; pressKey(key: string, userId: string): Promise<void> } | undefined;
  };
  endings: {
    kill(threadId: DiscordId, userId: string, tell: (text: string) => Promise<void>): Promise<unknown>;
    killAndTell(threadId: DiscordId, userId: string): Promise<unknown>;
  };
  inputs: {
    sendAfterAll(threadId: DiscordId, messageId: DiscordId, letIn?: LetIn): Promise<void>;
    typeAnyway(threadId: DiscordId, messageId: DiscordId): Promise<void>;
    resumeAndSend(threadId: DiscordId, messageId: DiscordId, userId: string): Promise<void>;
    takeRest(from: DiscordId, messageId: DiscordId, into: DiscordId): Promise<void>;
  };
  ended: {
    goOnHere(pressed: MessagePress): Promise<void>;
    startNew(pressed: MessagePress, onWait: (ms: number) => void): Promise<DiscordId>;
  };
  /**
   * Takes a message of a channel in the name of its writer, or of the person who lets it in. Resolves to false if the
   * channel is not served.
   */
  channels: { takeAfterAll(channelId: DiscordId, messageId: DiscordId, letIn?: LetIn): Promise<boolean> };
  /** Changes a channel's settings; resolves to what is shown of it then. */
  here: { set(channelId: DiscordId, request: ChannelRequest, vm: Vm, userId: string): Promise<Reply> };
  now: () => number;
  log: Log;
}

/** A person's decision to let in a guest's message. */
export interface LetIn {
  userId: string;
  /** Time of the last edit when the message was offered, in milliseconds since 1970; 0 if it was never edited. */
  editedMs: number;
}

/** A press below the question what becomes of a message. */
export interface MessagePress {
  threadId: DiscordId;
  messageId: DiscordId;
  userId: string;
}

interface Definition<Value> {
  /** The beginning of its ids; no other action has it. */
  readonly name: string;
  /** The rest of an id, in this order. */
  readonly parts: { readonly [Key in keyof Value]: Part<Value[Key]> };
  /** The right that a person needs to press it. */
  readonly right: Right;
  readonly first: FirstAnswer;
  /** It is about a session: the sidecar's `not_found` means that this is over. */
  readonly isOfSession?: true;
  /** Does it; the first answer was given. @throws AppError */
  run(value: Value, press: Press, context: ActionContext): Promise<void>;
  /** The form that it opened was sent; `press` is the form's. @throws AppError */
  submit?(value: Value, filled: Filled, press: Press, context: ActionContext): Promise<void>;
}

/** What an id says. */
export interface Pressed {
  readonly action: AnyAction;
  readonly value: unknown;
  run(press: Press, context: ActionContext): Promise<void>;
  /** Undefined if it has no form. */
  readonly submit: ((filled: Filled, press: Press, context: ActionContext) => Promise<void>) | undefined;
}

export interface AnyAction {
  readonly name: string;
  readonly right: Right;
  readonly first: FirstAnswer;
  readonly isOfSession: boolean;
  /** The parts of its ids, by what they are called in the value. */
  readonly parts: Readonly<Record<string, Part<never>>>;
  /** Undefined if the id is not this action's, or none that it makes. */
  read(id: string): Pressed | undefined;
}

export interface Action<Value> extends AnyAction {
  /** Undefined if it would not come back as it went: too long, or with a part that is refused. */
  findId(value: Value): string | undefined;
  /** One, or none if it has no id: pressed, it would mean something else. */
  buttons(value: Value, label: string, style: Button["style"]): Button[];
  /** As {@link buttons}, a list to choose from. */
  selects(value: Value, look: Omit<Select, "id">): Select[];
}

export function action<Value extends object>(definition: Definition<Value>): Action<Value> {
  const { name, right, first, isOfSession = false } = definition;
  const parts = Object.entries(definition.parts) as [keyof Value & string, Part<Value[keyof Value]>][];

  const write = (value: Value) =>
    [name, ...parts.map(([key, part]) => escaped(part.write(value[key])))].join(":");
  const parse = (id: string): Value | undefined => {
    const [head, ...texts] = id.split(":");
    if (head !== name || texts.length !== parts.length || id.length > MAX_ID_UNITS) return undefined;
    const found = parts.map(([key, part], i) => [key, part.read(unescaped(texts[i] ?? ""))] as const);
    if (found.some(([, value]) => value === undefined)) return undefined;
    const value = Object.fromEntries(found) as Value;
    return write(value) === id ? value : undefined;
  };

  const findId = (value: Value) => {
    const id = write(value);
    return parse(id) === undefined ? undefined : id;
  };
  const made: Action<Value> = {
    ...{ name, right, first, isOfSession, findId },
    parts: definition.parts as Readonly<Record<string, Part<never>>>,
    buttons: (value, label, style) => {
      const id = findId(value);
      return id === undefined ? [] : [{ id, label, style }];
    },
    selects: (value, look) => {
      const id = findId(value);
      return id === undefined ? [] : [{ id, ...look }];
    },
    read: (id) => {
      const value = parse(id);
      if (value === undefined) return undefined;
      const { submit } = definition;
      return {
        ...{ action: made, value },
        run: (press, context) => definition.run(value, press, context),
        submit: submit && ((filled, press, context) => submit(value, filled, press, context)),
      };
    },
  };
  return made;
}

/** A colon in a part would end it. */
function escaped(text: string): string {
  return text.replaceAll("%", "%25").replaceAll(":", "%3A");
}

function unescaped(text: string): string {
  return text.replaceAll("%3A", ":").replaceAll("%25", "%");
}
