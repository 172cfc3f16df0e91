/** Whom a message pings: what its text names, as far as `allowed_mentions` lets it. */
import { has, Permission } from "./permissions.ts";
import type { World } from "./state.ts";
import type { Channel, Message, Snowflake } from "./types.ts";
import type { MessageInput } from "./validate.ts";

/** Mentions are found in the raw text, also inside code: only `allowed_mentions` keeps them from pinging. */
export function findMentions(
  world: World,
  message: {
    authorId: Snowflake;
    channel: Channel;
    content: string;
    allowed: MessageInput["allowed_mentions"];
    /** The message replied to. */
    target: Message | undefined;
    isWebhook: boolean;
  },
): { mentions: Snowflake[]; mention_roles: Snowflake[]; mention_everyone: boolean } {
  const { content, allowed, target } = message;
  // Without the object: webhooks ping users only, normal messages everything.
  const parse = allowed
    ? (allowed.parse ?? [])
    : message.isWebhook
      ? ["users"]
      : ["users", "roles", "everyone"];
  const named = unique([...content.matchAll(/<@!?(\d+)>/g)].map((match) => match[1] ?? ""));
  const mentions = named.filter(
    (id) => world.data.users.has(id) && (parse.includes("users") || allowed?.users?.includes(id)),
  );
  const pingsReplied = allowed ? allowed.replied_user === true : true;
  if (target && pingsReplied && !mentions.includes(target.author_id)) mentions.push(target.author_id);

  const namedRoles = unique([...content.matchAll(/<@&(\d+)>/g)].map((match) => match[1] ?? ""));
  const roles = namedRoles.filter(
    (id) => world.data.roles.has(id) && (parse.includes("roles") || allowed?.roles?.includes(id)),
  );
  const mayEveryone = has(world.permissions(message.authorId, message.channel), Permission.mentionEveryone);
  const isEveryone = parse.includes("everyone") && mayEveryone && /@(everyone|here)/.test(content);
  return { mentions, mention_roles: roles, mention_everyone: isEveryone };
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}
