/** A source such as `discord:42` or `api:console`. */
export function describeSource(source: string): string {
  const [kind = "", name = ""] = source.split(/:(.*)/s);
  if (source === "api:console") return "the console";
  if (kind === "discord") return `Discord user ${name}`;
  if (kind === "thread") return `thread ${name}`;
  return kind === "api" ? name : source;
}
