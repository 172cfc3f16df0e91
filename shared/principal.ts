/**
 * Who acts. The sidecar makes a principal once, at its door, from the credential of a request. Transcripts, inboxes and
 * rows keep it as a text, which is written and read here and nowhere else.
 */
import * as z from "zod";

export type Principal =
  /** Has the sidecar's own token. */
  | { readonly kind: "owner" }
  /** Has the relay's token, and names no person: the relay's own work. */
  | { readonly kind: "relay" }
  /** A browser that is signed in to the console. */
  | { readonly kind: "console" }
  /** Somebody in Discord, in whose name the relay asks. */
  | { readonly kind: "person"; readonly discordId: string }
  /** An agent, by its thread. */
  | { readonly kind: "thread"; readonly threadId: string }
  /** A program with a token of its own. */
  | { readonly kind: "caller"; readonly name: string }
  /** The sidecar's own work. */
  | { readonly kind: "job"; readonly name: string };

export const OWNER: Principal = { kind: "owner" };
export const RELAY: Principal = { kind: "relay" };
export const CONSOLE: Principal = { kind: "console" };

export function person(discordId: string): Principal {
  return { kind: "person", discordId };
}

export function threadPrincipal(threadId: string): Principal {
  return { kind: "thread", threadId };
}

export function job(name: string): Principal {
  return { kind: "job", name };
}

/** Beside the relay's token: the Discord user in whose name it asks. */
export const PERSON_HEADER = "threadmux-person";

/** With it: the roles that the user has at Discord, by their ids, separated by commas. */
export const ROLES_HEADER = "threadmux-person-roles";

/** A printed principal, such as `discord:42` or `owner`. */
export const sourceSchema = z
  .string()
  .max(200)
  .regex(
    /^(owner|relay|console|discord:\d{1,20}|thread:[\w-]{1,64}|caller:[\w-]{1,64}|job:[\w-]{1,64})$/,
    "who it came from, such as owner, discord:<user id> or thread:<id>",
  );
export type Source = z.infer<typeof sourceSchema>;

/** As transcripts, inboxes and rows keep it. */
export function printPrincipal(principal: Principal): Source {
  switch (principal.kind) {
    case "owner":
    case "relay":
    case "console":
      return principal.kind;
    case "person":
      return `discord:${principal.discordId}`;
    case "thread":
      return `thread:${principal.threadId}`;
    case "caller":
    case "job":
      return `${principal.kind}:${principal.name}`;
  }
}

/** Reads what {@link printPrincipal} wrote. @throws Error if that is something else */
export function parsePrincipal(source: Source): Principal {
  const [kind, name = ""] = source.split(":");
  switch (kind) {
    case "owner":
    case "relay":
    case "console":
      return { kind };
    case "discord":
      return person(name);
    case "thread":
      return threadPrincipal(name);
    case "caller":
    case "job":
      return { kind, name };
    default:
      throw new Error(`${JSON.stringify(source)} names nobody who acts`);
  }
}

/** The Discord user who acts; undefined if it is somebody else. */
export function findDiscordId(source: Source): string | undefined {
  const principal = parsePrincipal(source);
  return principal.kind === "person" ? principal.discordId : undefined;
}

/** Whether a human acts. The words of programs and of agents say in a prompt from where they come. */
export function isHuman({ kind }: Principal): boolean {
  return kind === "person" || kind === "owner" || kind === "console";
}

/** For people who look on from outside of Discord. */
export function describePrincipal(principal: Principal): string {
  switch (principal.kind) {
    case "owner":
    case "relay":
    case "console":
      return `the ${principal.kind}`;
    case "person":
      return `Discord user ${principal.discordId}`;
    case "thread":
      return `thread ${principal.threadId}`;
    case "caller":
      return principal.name;
    case "job":
      return "threadmux";
  }
}

/** Where an agent that speaks with a tool can write to, by handles; each of its inputs is called so too. */
export interface Address {
  channel?: string | undefined;
  person?: string | undefined;
}

/** `discord:#ops/alice`, `discord:#ops`, `discord:alice`. */
export function printAddress({ channel, person }: Address): string {
  const parts = [
    ...(channel === undefined ? [] : [`#${channel}`]),
    ...(person === undefined ? [] : [person]),
  ];
  return `discord:${parts.join("/")}`;
}

/** Reads an address of a channel as {@link printAddress} writes it; undefined if it is something else. */
export function parseAddress(text: string): { channel: string; person: string | undefined } | undefined {
  const [, channel, person] = /^discord:#([a-z0-9-]+)(?:\/([a-z0-9-]+))?$/.exec(text) ?? [];
  return channel === undefined ? undefined : { channel, person };
}

/** An agent's address: `thread:#12`. */
export function printThreadAddress(name: string): string {
  return `thread:${name}`;
}

/** The thread that such an address names. */
export function parseThreadAddress(text: string): string | undefined {
  return /^thread:(.+)$/s.exec(text)?.[1];
}
