/**
 * The one place that every text for Discord goes through: nothing is longer than Discord takes, and no link in it is
 * fetched. Texts are cut where they are built, each in a way that makes sense; this is what holds even if one is not.
 * Pure, apart from {@link keepWithinLimits}.
 */
import { type InternalRequest, MessageFlags, type REST } from "discord.js";
import { clip } from "../../shared/clip.ts";

/** In UTF-16 units; Discord counts characters, which are never more. */
export const MAX_CONTENT = 2_000;
export const MAX_NAME = 100;
export const MAX_CHOICES = 25;
const MAX_LABEL = 80;
const FENCE = "```";
const EMBED_LIMITS: Readonly<Record<string, number>> = {
  title: 256,
  description: 4_096,
  name: 256,
  value: 1_024,
};

/** A message's text, its code block closed again if the cut fell into one. */
export function fitContent(content: string): string {
  if (content.length <= MAX_CONTENT) return content;
  const cut = clip(content, MAX_CONTENT - FENCE.length - 1);
  return (cut.split(FENCE).length - 1) % 2 === 0 ? cut : `${cut}\n${FENCE}`;
}

/** A request's body with every text in it as long as Discord takes. */
export function fitBody(body: unknown): unknown {
  // A list is the definitions of commands, which are ours.
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const fitted: Record<string, unknown> = { ...body };
  if (typeof fitted["content"] === "string") fitted["content"] = fitContent(fitted["content"]);
  if (typeof fitted["name"] === "string") fitted["name"] = clip(fitted["name"], MAX_NAME);
  if (typeof fitted["title"] === "string") fitted["title"] = clip(fitted["title"], 45);
  if (Array.isArray(fitted["choices"])) fitted["choices"] = fitChoices(fitted["choices"]);
  if (Array.isArray(fitted["components"]))
    fitted["components"] = fitTexts(fitted["components"], { label: MAX_LABEL, placeholder: MAX_NAME });
  if (Array.isArray(fitted["embeds"])) fitted["embeds"] = fitTexts(fitted["embeds"], EMBED_LIMITS);
  // The answer to an interaction.
  if ("data" in fitted) fitted["data"] = fitBody(fitted["data"]);
  return fitted;
}

/** From here on each request of this client is within the limits, and none makes Discord fetch a link. */
export function keepWithinLimits(rest: REST): void {
  const request = rest.request.bind(rest);
  rest.request = (options: InternalRequest) =>
    request(
      "body" in options ? { ...options, body: withoutEmbeds(options, fitBody(options.body)) } : options,
    );
}

/** Addresses at which a body is a message or its edit. */
const MESSAGES = /^\/(?:channels\/[^/]+\/messages(?:\/[^/]+)?|webhooks\/[^/]+\/[^/]+(?:\/messages\/[^/]+)?)$/;
const INTERACTION_ANSWER = /^\/interactions\/[^/]+\/[^/]+\/callback$/;
/** An answer with a message, and the edit of the message whose button was pressed. A deferred one takes no such flag. */
const ANSWERS_WITH_MESSAGE: readonly unknown[] = [4, 7];

/**
 * Discord fetches each link of a message at once, so that a text of an agent could tell what it knows to anybody by the
 * link alone. An edit says it again: a message is as its last edit says, and an older version's may lack it.
 */
function withoutEmbeds({ fullRoute }: Pick<InternalRequest, "fullRoute">, body: unknown): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const fields = body as Record<string, unknown>;
  if (MESSAGES.test(fullRoute)) {
    const flags = typeof fields["flags"] === "number" ? fields["flags"] : 0;
    return { ...fields, flags: flags | MessageFlags.SuppressEmbeds };
  }
  if (INTERACTION_ANSWER.test(fullRoute) && ANSWERS_WITH_MESSAGE.includes(fields["type"]))
    return { ...fields, data: withoutEmbeds({ fullRoute: "/channels/0/messages" }, fields["data"] ?? {}) };
  return body;
}

/** A choice's value is what comes back: cut, it would name something else, so the choice goes. */
function fitChoices(choices: readonly unknown[]): unknown[] {
  return choices
    .filter((choice) => {
      const value = (choice as { value?: unknown } | null)?.value;
      return typeof value !== "string" || value.length <= MAX_NAME;
    })
    .slice(0, MAX_CHOICES)
    .map(fitBody);
}

function fitTexts(value: unknown, limits: Readonly<Record<string, number>>): unknown {
  if (Array.isArray(value)) return value.map((one) => fitTexts(one, limits));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      const max = limits[key];
      return [key, typeof one === "string" && max !== undefined ? clip(one, max) : fitTexts(one, limits)];
    }),
  );
}
